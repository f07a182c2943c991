//! Dependencies only point downwards, and the engine stays pure.
#![expect(clippy::unwrap_used, reason = "a test that cannot read the sources has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up. A layer may use those of the rows below its own.
const ROWS: [&[&str]; 9] = [
    &["engine"],
    &["api", "registry", "runtime"],
    &["scenario"],
    &["probe", "model", "cluster", "fake_app"],
    &["local"],
    &["report"],
    &["controller"],
    &["lesson", "tools"],
    &["cli"],
];

/// What the engine may not name beside every dependency: clocks, I/O, and what iterates in random order.
const IMPURE: [&str; 11] =
    ["Instant", "SystemTime", "HashMap", "HashSet", "RandomState", "net", "fs", "io", "thread", "process", "env"];

#[test]
fn every_layer_uses_only_layers_below_it() {
    let mut wrong = Vec::new();
    for layer in ROWS.concat() {
        for file in sources(&Path::new(SRC).join(layer)) {
            let depth = module_depth(&file);
            for used in layers_used(&tokens(&fs::read_to_string(&file).unwrap()), depth) {
                if used != layer && row(&used) >= row(layer) {
                    wrong.push(format!("{} uses {used}, which is not below {layer}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_engine_names_no_dependency_no_clock_and_no_random_order() {
    let mut forbidden = dependencies();
    forbidden.extend(IMPURE.map(str::to_owned));
    let mut wrong = Vec::new();
    for file in sources(&Path::new(SRC).join("engine")) {
        for word in path_words(&tokens(&fs::read_to_string(&file).unwrap())) {
            if forbidden.contains(&word) {
                wrong.push(format!("{} names {word}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_of_the_crate_has_its_row() {
    let declared: BTreeSet<String> = tokens(&fs::read_to_string(Path::new(SRC).join("lib.rs")).unwrap())
        .windows(2)
        .filter(|pair| pair[0] == "mod")
        .map(|pair| pair[1].clone())
        .collect();
    assert_eq!(declared, ROWS.concat().into_iter().map(str::to_owned).collect());
}

#[test]
fn a_layer_is_found_however_its_path_is_written() {
    for (source, depth, expected) in [
        ("use crate::engine::Span;", 1, &["engine"][..]),
        ("use crate::{api, engine::{Span, Time}, probe::Ask as model};", 1, &["api", "engine", "probe"]),
        ("pub(crate) fn f() -> crate::engine::Span { crate::api::f() }", 1, &["api", "engine"]),
        ("use super::engine::Span;", 1, &["engine"]),
        ("use super::super::{engine, api::Policy};", 2, &["api", "engine"]),
        ("use super::engine::Span;", 2, &[]),
        ("//! [`crate::engine`]\n/* crate::api /* */ crate::api */ fn f<'a>() {}", 1, &[]),
        (r####"fn f() { ["\"crate::api", r#""crate::api"#, "'"]; '"'; '\''; crate::engine::f() }"####, 1, &["engine"]),
    ] {
        let found: Vec<String> = layers_used(&tokens(source), depth).into_iter().collect();
        assert_eq!(found, expected, "{source}");
    }
}

const SRC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

fn row(layer: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&layer))
}

/// Every source file below `directory`.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// How many `super` lead from a file's module to the crate.
fn module_depth(file: &Path) -> usize {
    let parts = file.strip_prefix(SRC).unwrap().components().count();
    if file.ends_with("mod.rs") { parts - 1 } else { parts }
}

/// The names of the crate's dependencies, as code writes them.
fn dependencies() -> BTreeSet<String> {
    let manifest = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let after = manifest.split("\n[dependencies]\n").nth(1).unwrap();
    let section = after.split("\n[").next().unwrap();
    let names: BTreeSet<String> = section
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.trim().replace('-', "_"))
        .collect();
    assert!(names.contains("tokio") && names.contains("k8s_openapi"), "{names:?}");
    names
}

/// The layers that paths from the crate's root lead to.
fn layers_used(tokens: &[String], depth: usize) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let (mut supers, mut path) = (0, after);
        if first == "super" {
            supers = 1;
            while let [colons, next, tail @ ..] = path
                && colons == "::"
                && next == "super"
            {
                (supers, path) = (supers + 1, tail);
            }
            rest = path;
        }
        if (first == "crate" || supers >= depth)
            && let [colons, tail @ ..] = path
            && colons == "::"
        {
            used.extend(heads(tail).into_iter().filter(|name| row(name).is_some()));
        }
    }
    used
}

/// The first names of a use tree: one, or one for each branch of a group.
fn heads(tree: &[String]) -> Vec<String> {
    let Some((first, branches)) = tree.split_first() else { return Vec::new() };
    if first != "{" {
        return vec![first.clone()];
    }
    let mut found = Vec::new();
    let (mut depth, mut at_head) = (1, true);
    for token in branches {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            "," if depth == 1 => at_head = true,
            name if at_head => {
                found.push(name.to_owned());
                at_head = false;
            }
            _ => {}
        }
    }
    found
}

/// Every word that belongs to a path or a `use`.
fn path_words(tokens: &[String]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut in_use = false;
    for (at, token) in tokens.iter().enumerate() {
        in_use = token == "use" || in_use && token != ";";
        let beside_colons = tokens.get(at + 1).is_some_and(|next| next == "::") || at > 0 && tokens[at - 1] == "::";
        if in_use || beside_colons {
            words.insert(token.clone());
        }
    }
    words
}

/// The words, the `::` and the punctuation of some source, without comments and without text in quotes.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            quoted(rest, '"')
        } else if let Some(length) = raw_string(rest) {
            length
        } else if first == '\'' {
            let is_character = rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'');
            if is_character { quoted(rest, '\'') } else { 1 }
        } else {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                word => word,
            };
            if !first.is_whitespace() {
                tokens.push(rest[..length].to_owned());
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    for (at, _) in text.char_indices() {
        if text[at..].starts_with("/*") {
            depth += 1;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            if depth == 0 {
                return at + 2;
            }
        }
    }
    text.len()
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a raw string that `text` begins with.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close).map_or(inside.len(), |at| at + close.len());
    Some(text.len() - inside.len() + end)
}
