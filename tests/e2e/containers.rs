//! Whose container it was.

use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, RULES, SIDECAR, UNGUARDED, What, Witness, let_pass, seconds};

fn started(container: &str) -> What {
    What::ContainerStarted(container.to_owned())
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_crash_of_the_app_closes_the_gate_until_the_new_container_has_started() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "crash").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let fleet = Fleet::stateful_set(1).startup(5).reopenings(json!([{"replica": 0, "at": 2}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let crash = start + seconds(2);
    let closed = witness.sees("fake-0", What::GateClosed, crash).await;
    let running = witness.sees("fake-0", started("app"), crash).await;
    let opened = witness.sees("fake-0", What::GateOpened, closed).await;

    println!("the gate of a dead container stayed open for {:#}", closed.duration_since(crash));
    assert!(closed < running + seconds(5), "new container {running}, gate closed {closed}");
    assert!(opened >= crash + seconds(5), "a new container serves from {crash} and 5s on, gate opened {opened}");
    let ended: Vec<_> = witness.since(start).into_iter().filter(|it| it.what == What::Ending).collect();
    assert_eq!(ended, []);
    assert_eq!(namespace.status("fake").await.restarts.total, 0);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_crash_of_a_sidecar_moves_no_verdict() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "sidecar").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let crashes = json!([{"replica": SIDECAR, "at": 1}, {"replica": SIDECAR, "at": 4}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(1).with_sidecar().reopenings(crashes)).await;

    witness.sees("fake-0", started("sidecar"), start).await;
    let_pass(4).await;

    let stopped = What::ContainerStopped("app".into());
    let moves = [What::GateOpened, What::GateClosed, What::Ending, stopped];
    let moved = witness.since(start).into_iter().filter(|it| moves.contains(&it.what));
    assert_eq!(moved.collect::<Vec<_>>(), []);
    assert_eq!(namespace.status("fake").await.seats, []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn one_fault_under_a_native_and_our_own_liveness_is_one_restart() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "native").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let native = json!({"livenessProbe": {
        "httpGet": {"port": "http", "path": "/live"}, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 3,
    }});
    let fleet = Fleet::stateful_set(1).container(native).faults(json!([{"replica": 0, "at": 1, "stuck": {}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let healed = witness.sees("fake-0", What::GateOpened, start).await;
    let_pass(6).await;

    assert_eq!(witness.restarts_since(start).len(), 1, "healed {healed}: {:#?}", witness.since(start));
}
