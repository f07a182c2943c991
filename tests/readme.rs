//! README.md and docs/ say what is so: examples are valid, printed output is what is printed, and every command shown
//! is run: here, on the cluster below, or by CI.
#![expect(clippy::unwrap_used, reason = "a test that cannot read the documents has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{JSONSchemaProps, JSONSchemaPropsOrArray};
use probe_policy::api::{conditions, crd, policy_from_str};
use probe_policy::scenario::{self, ScenarioFile};
use serde_json::Value;

/// How the documents run the program.
const PROGRAM: &str = "cargo run --release -- ";

#[test]
fn every_policy_shown_is_valid() {
    let policies: Vec<_> =
        blocks("yaml").into_iter().filter(|block| block.text.contains("kind: ProbePolicy")).collect();
    for policy in &policies {
        let read = policy_from_str(&policy.file, &policy.text);
        assert!(read.is_ok(), "{}", read.unwrap_err());
    }
    assert!(policies.len() >= 2, "only {} policies found", policies.len());
}

#[test]
fn every_scenario_shown_is_valid() {
    let scenarios: Vec<_> =
        blocks("yaml").into_iter().filter(|block| block.text.contains("requestsPerTurn:")).collect();
    for scenario in &scenarios {
        let read = ScenarioFile::parse(&scenario.file, &scenario.text);
        assert!(read.is_ok(), "{}", read.unwrap_err());
    }
    assert!(!scenarios.is_empty());
}

#[test]
fn the_program_prints_what_is_shown() {
    let mut shown = 0;
    for (command, output) in commands().into_iter().filter(|(command, _)| runner(command) == Runner::Here) {
        let run = sh(&command);
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
        if let Some(output) = output {
            assert_eq!(String::from_utf8(run.stdout).unwrap(), output, "{command}");
            shown += 1;
        }
    }
    assert!(shown >= 2, "only {shown} outputs compared");
}

#[test]
fn every_other_command_is_run_by_ci() {
    let scripts = [".ci/run", ".github/workflows/lint-and-test.yaml", ".github/workflows/e2e.yaml"];
    let scripts = scripts.map(|script| words(&in_the_words_of_the_documents(&read(script))));
    let mut known = 0;
    for (command, _) in commands().into_iter().filter(|(command, _)| runner(command) == Runner::Ci) {
        let command_words = words(&command);
        let is_in = |script: &Vec<String>| script.windows(command_words.len()).any(|part| part == command_words);
        assert!(scripts.iter().any(is_in), "nothing runs {command:?}");
        known += 1;
    }
    assert!(known >= 8, "only {known} commands found");
}

#[test]
fn the_reference_names_every_field_and_every_condition() {
    let reference = read("docs/reference.md");
    let named: BTreeSet<&str> = reference.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let mut names = Vec::new();
    let version = crd().spec.versions.remove(0);
    collect(&version.schema.unwrap().open_api_v3_schema.unwrap(), &mut names);
    names.extend(
        [
            conditions::ACCEPTED,
            conditions::CONFLICTED,
            conditions::UNGATED,
            conditions::NEVER_PASSED,
            conditions::PERIOD_STRETCHED,
            conditions::PROBER_ERRORS,
            conditions::WRITES_LAG,
            conditions::EJECTION_NOT_EFFECTIVE,
            conditions::RESTART_HELD,
            conditions::DEPENDENCY_DOWN,
            conditions::BELOW_FLOOR,
            conditions::BREAKER_OPEN,
            conditions::GAVE_UP,
            conditions::PAUSED,
            conditions::PAUSE_INVALID,
            conditions::PREPARING,
            conditions::SHARED_FAILURE,
            conditions::LOOPING,
        ]
        .map(str::to_owned),
    );
    assert!(names.len() > 60, "{names:?}");
    let missing: Vec<_> = names.into_iter().filter(|name| !named.contains(name.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_page_on_scenarios_names_every_field() {
    let page = read("docs/scenarios.md");
    let named: BTreeSet<&str> = page.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let mut names = BTreeSet::new();
    collect_json(scenario::json_schema().as_value(), &mut names);
    assert!(names.len() > 30, "{names:?}");
    let missing: Vec<_> = names.into_iter().filter(|name| !named.contains(name.as_str())).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_page_on_the_fake_app_names_every_option() {
    let page = read("docs/fake-app.md");
    let is_part_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let names = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c| !is_part_of_a_name(c)).map(|word| word.trim_end_matches('-'));
        words.filter(|word| word.starts_with("--") || word.starts_with("FAKE_APP_")).map(str::to_owned).collect()
    };
    let documented = names(&page);
    for command in ["serve", "store", "registry", "load"] {
        let help = Command::new(env!("CARGO_BIN_EXE_fake-app")).args([command, "--help"]).output().unwrap().stdout;
        let offered = names(&String::from_utf8(help).unwrap());
        assert!(offered.len() > 8, "{command}: {offered:?}");
        let missing: Vec<_> =
            offered.into_iter().filter(|name| name != "--help" && !documented.contains(name)).collect();
        assert_eq!(missing, Vec::<String>::new(), "{command}");
    }
}

/// Everything with kubectl, in the order of README.md: the walk-through, the end, and the install in one namespace.
#[test]
#[ignore = "needs a cluster"]
fn the_walk_through_runs_as_it_is_written() {
    run_on_cluster("kubectl delete namespace lesson --ignore-not-found");
    for (command, _) in commands().into_iter().filter(|(command, _)| runner(command) == Runner::Cluster) {
        run_on_cluster(&command);
    }
    // It has uninstalled everything, but the cluster may be somebody's who has more to try.
    run_on_cluster("kubectl apply -f deploy/");
    run_on_cluster("kubectl -n probe-policy rollout status deployment/controller --timeout=3m");
}

/// Who runs a command that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// A test that needs no cluster.
    Here,
    /// The test that does.
    Cluster,
    /// A script of CI.
    Ci,
}

fn runner(command: &str) -> Runner {
    match command.strip_prefix(PROGRAM) {
        Some("lesson replicas --world model" | "lesson faults") => Runner::Here,
        Some(tool) if tool.starts_with("simulate ") || tool.starts_with("sweep ") => Runner::Here,
        Some(tool) if tool.starts_with("validate ") => Runner::Here,
        Some(tool) if tool.starts_with("release ") => Runner::Cluster,
        None if command.starts_with("kubectl ") => Runner::Cluster,
        Some(_) | None => Runner::Ci,
    }
}

fn run_on_cluster(command: &str) {
    let run = sh(command);
    let [stdout, stderr] = [&run.stdout, &run.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    println!("$ {command}\n{stdout}{stderr}");
    assert!(run.status.success(), "{command}");
}

fn sh(command: &str) -> Output {
    let command = match command.strip_prefix(PROGRAM) {
        Some(args) => format!("{} {args}", env!("CARGO_BIN_EXE_probe-policy")),
        None => command.to_owned(),
    };
    Command::new("sh").args(["-ec", &command]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

/// Every command that is shown, with the output that is shown for the last one of a block.
fn commands() -> Vec<(String, Option<String>)> {
    let mut commands: Vec<(String, Option<String>)> = Vec::new();
    let mut file = String::new();
    for block in blocks("") {
        match (block.language.as_str(), commands.last_mut()) {
            ("sh", _) => {
                commands.extend(block.text.lines().map(|line| (line.to_owned(), None)));
                file = block.file;
            }
            ("text", Some((_, output))) if block.file == file => *output = Some(block.text),
            _ => {}
        }
    }
    commands
}

/// A fenced block of a document.
struct Block {
    file: String,
    language: String,
    text: String,
}

/// The fenced blocks of all documents in this language; in any, if it is empty.
fn blocks(language: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for file in documents() {
        let text = read(&file);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(language) = line.trim_start().strip_prefix("```") else { continue };
            let inside = lines.by_ref().take_while(|line| line.trim_start() != "```");
            let text = inside.map(|line| format!("{line}\n")).collect();
            blocks.push(Block { file: file.clone(), language: language.to_owned(), text });
        }
    }
    blocks.retain(|block| language.is_empty() || block.language == language);
    blocks
}

fn documents() -> Vec<String> {
    let folder = fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap();
    let mut documents: Vec<_> =
        folder.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap())).collect();
    documents.sort_unstable();
    documents.insert(0, "README.md".to_owned());
    documents
}

fn read(file: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// Scripts name by variables what the documents spell out, and pin what people need not.
fn in_the_words_of_the_documents(script: &str) -> String {
    script
        .replace("\"$program\" ", PROGRAM)
        .replace("\"$cluster\"", "tests/cluster/cluster")
        .replace("\"$cache\"/images", "target/images")
        .replace("go -C tests/kind tool kind ", "kind ")
        .replace("../../kind-config.yaml", "kind-config.yaml")
        .replace(" --locked", "")
        .replace(" --no-fail-fast", "")
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The names of all members, however deep, and of the values that are words.
fn collect_json(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            names.extend(
                members.get("properties").and_then(Value::as_object).into_iter().flat_map(|p| p.keys().cloned()),
            );
            names.extend(members.get("const").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect_json(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_json(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn collect(schema: &JSONSchemaProps, names: &mut Vec<String>) {
    for (name, member) in schema.properties.iter().flatten() {
        names.push(name.clone());
        collect(member, names);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        collect(items, names);
    }
}
