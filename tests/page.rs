//! A report's page, opened in a real browser: what it shows are the figures of the run. It needs Chromium, so
//! only `cargo test --test page` runs it.
#![expect(clippy::unwrap_used, reason = "a test that cannot open the page has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const POLICY: &str = "lessons/replicas/settings/plus-startup.yaml";
const WORSE: &str = "lessons/replicas/settings/one-combined-probe.yaml";
const SCENARIO: &str = "lessons/replicas/scenario.yaml";

#[test]
fn a_run_is_shown_as_it_was() {
    let page = Page::open("run", &["simulate", POLICY, SCENARIO, "--compare", WORSE]);
    let figures = json(&["simulate", POLICY, SCENARIO, "--compare", WORSE]);
    assert_eq!(page.figures(), figures);
    for column in ["restarts", "unnecessary", "total_errors", "ejections", "attempts"] {
        let shown: Vec<_> = page.cells(column).into_iter().take(2).collect();
        let run: Vec<_> = (0..2).map(|policy| figures["policies"][policy][column].to_string()).collect();
        assert_eq!(shown, run, "{column}");
    }
    let sum = |column: &str| (0..2).map(|policy| figures["policies"][policy][column].as_u64().unwrap()).sum::<u64>();
    let errors: u64 = page.attributes("data-failed").iter().map(|errors| errors.parse::<u64>().unwrap()).sum();
    assert_eq!(errors, sum("total_errors"));
    let marks = |class: &str| page.count(&format!("<path class=\"{class}\"")) as u64 - 1; // one is in the legend
    assert_eq!(marks("needless"), sum("unnecessary"));
    assert_eq!(marks("needed"), sum("restarts") - sum("unnecessary"));
    assert!(page.dom.contains("because the liveness rule failed 3 of 3 times in a row, last: status 503."));
}

#[test]
fn a_sweep_is_shown_as_it_was() {
    let sweep =
        ["sweep", POLICY, SCENARIO, "--vary", "liveness.period=2s,5s", "--vary", "liveness.failureThreshold=1..3"];
    let page = Page::open("sweep", &sweep);
    let figures = json(&sweep);
    assert_eq!(page.figures(), figures);
    let rows = figures.as_array().unwrap();
    let run = |column: &str| rows.iter().map(|row| row[column].to_string()).collect::<Vec<_>>();
    assert_eq!(page.cells("unnecessary"), run("unnecessary"));
    assert_eq!(page.cells("total_errors"), run("total_errors"));
    let on_front = rows.iter().filter(|row| row["pareto"] == true).count();
    assert_eq!(page.count(" front\">★ "), 4 * on_front, "a star on each of four maps");
}

#[test]
fn a_lesson_is_shown_as_it_was() {
    for lesson in [&["lesson", "replicas", "--world", "model"][..], &["lesson", "depth", "--world", "model"]] {
        let page = Page::open(lesson[1], lesson);
        let figures = json(lesson);
        assert_eq!(page.figures(), figures);
        let column = if lesson[1] == "replicas" { "total_errors" } else { "dropped_reads" };
        let run: Vec<_> = figures.as_array().unwrap().iter().map(|row| row[column].to_string()).collect();
        assert_eq!(page.cells(column), run);
        assert_eq!(page.count("<h2>"), 2 + run.len(), "the figures, the legend, and a picture for each setting");
    }
}

#[test]
fn a_lab_is_shown_as_it_was() {
    let scenario = folder().join("lab.yaml");
    let text = "
        turn: 1s
        turns: 10
        requestsPerTurn: {read: 4, write: 4}
        replicas: {count: 2, startup: 1}
        faults: [{replica: 0, at: 3, halfDown: {for: 3}}, {replica: 1, at: 5, stuck: {}}]";
    std::fs::write(&scenario, text).unwrap();
    let page = Page::open("lab", &["lab", POLICY, scenario.to_str().unwrap(), "--speed", "4"]);
    let figures = page.figures();
    let shown = |column: &str| page.cells(column)[1].clone();
    for column in ["restarts", "total_errors", "silent_losses"] {
        assert_eq!(shown(column), figures["measured"][column].to_string(), "{column}");
    }
    let failed: u64 = page.attributes("data-failed").iter().map(|errors| errors.parse::<u64>().unwrap()).sum();
    let silent: u64 = page.attributes("data-lost").iter().map(|losses| losses.parse::<u64>().unwrap()).sum();
    assert_eq!(Some(failed), figures["measured"]["total_errors"].as_u64());
    assert_eq!(Some(silent), figures["measured"]["silent_losses"].as_u64());
    assert!(silent > 0);
    assert!(page.dom.contains("<title>half-down, ") && page.dom.contains("<title>stuck, "), "{}", page.dom);
}

#[test]
fn what_a_file_is_called_stays_a_text() {
    let evil = folder().join("<img src=x onerror=document.title='owned'>&\"'.yaml");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(POLICY), &evil).unwrap();
    let page = Page::open("evil", &["simulate", evil.to_str().unwrap(), SCENARIO]);
    assert!(!page.dom.contains("<img") && !page.dom.contains("<title>owned"), "{}", page.dom);
    assert_eq!(page.figures(), json(&["simulate", evil.to_str().unwrap(), SCENARIO]));
}

/// A page as the browser has built it.
struct Page {
    dom: String,
}

impl Page {
    /// What the program prints as a page, opened in a headless Chromium of its own.
    fn open(name: &str, args: &[&str]) -> Self {
        let file = folder().join(format!("{name}.html"));
        let profile = folder().join(format!("{name}-profile"));
        std::fs::write(&file, stdout(&[args, &["--output", "html"]].concat())).unwrap();
        let _ = std::fs::remove_dir_all(&profile);
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        chromium.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        chromium.arg(format!("--user-data-dir={}", profile.display()));
        let output = chromium.arg("--dump-dom").arg(format!("file://{}", file.display())).output().unwrap();
        std::fs::remove_dir_all(&profile).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { dom: String::from_utf8(output.stdout).unwrap() }
    }

    /// The figures that the page holds for programs.
    fn figures(&self) -> Value {
        let (_, after) = self.dom.split_once("<script type=\"application/json\" id=\"figures\">").unwrap();
        serde_json::from_str(after.split("</script>").next().unwrap()).unwrap()
    }

    /// The cells of a column of the table.
    fn cells(&self, column: &str) -> Vec<String> {
        let open = format!("<td data-column=\"{column}\">");
        self.dom.split(&open).skip(1).map(|after| after.split("</td>").next().unwrap().to_owned()).collect()
    }

    fn attributes(&self, name: &str) -> Vec<String> {
        let open = format!("{name}=\"");
        self.dom.split(&open).skip(1).map(|after| after.split('"').next().unwrap().to_owned()).collect()
    }

    fn count(&self, text: &str) -> usize {
        self.dom.matches(text).count()
    }
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--output", "json"]].concat())).unwrap()
}

fn stdout(args: &[&str]) -> String {
    let mut command = assert_cmd::Command::cargo_bin("probe-policy").unwrap();
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
