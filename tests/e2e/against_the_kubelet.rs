//! What the lesson "faults" says of a rule, on pods: without it, with it, and with the kubelet's own probes.

use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use crate::support::Cluster;

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_breaker_saves_restarts_and_errors_that_neither_our_rules_alone_nor_the_kubelet_save() {
    let [without, with, kubelet] = measured("breaker").await;
    assert!(with.restarts <= 2, "{with:?}");
    for bare in [&without, &kubelet] {
        assert!(bare.restarts >= 8 && bare.total_errors > 1_000, "{bare:?}");
        assert!(
            with.total_errors * 3 < bare.total_errors && with.truly_serving > bare.truly_serving,
            "{with:?} {bare:?}"
        );
    }
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_floor_keeps_a_pool_that_our_rules_alone_and_the_kubelet_empty() {
    let [without, with, kubelet] = measured("floor").await;
    assert!(without.total_errors > 1_000 && kubelet.total_errors > 1_000, "{without:?} {kubelet:?}");
    assert!(with.total_errors * 3 < without.total_errors.min(kubelet.total_errors), "{with:?}");
}

/// What was measured of a run.
#[derive(Debug, Deserialize)]
struct Measured {
    restarts: u64,
    total_errors: u64,
    truly_serving: f64,
}

/// A rule's scenario without the rule, with it, and under the kubelet: all three at the same time, at speed 1.
async fn measured(rule: &str) -> [Measured; 3] {
    let _cluster = Cluster::shared().await;
    let lesson = ["lesson", "faults", "--world", "cluster", "--rule", rule, "--output", "json"];
    let run = Command::new(env!("CARGO_BIN_EXE_probe-policy")).args(lesson).kill_on_drop(true).output().await.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&run.stdout).unwrap();
    println!("{}", String::from_utf8_lossy(&run.stdout));
    let figures = rows.iter().map(|row| serde_json::from_value(row["measured"][0]["figures"].clone()).unwrap());
    figures.collect::<Vec<_>>().try_into().unwrap()
}
