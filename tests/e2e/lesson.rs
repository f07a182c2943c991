//! The lesson's manifests, as they are.

use kube::Api;
use probe_policy::api::ProbePolicy;

use crate::support::{Cluster, eventually, kubectl, kubectl_with};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_lessons_manifests_give_a_fleet_under_load() {
    let cluster = Cluster::shared().await;
    kubectl(&["apply", "-f", "deploy/lesson/"]).await;

    let policies: Api<ProbePolicy> = Api::namespaced(cluster.client.clone(), "lesson");
    eventually("most of the eight replicas in the pool", async || {
        let status = policies.get("fake").await.unwrap().status.unwrap_or_default();
        // The script repeats by the clock, so up to three are in a fault or starting at any time.
        let most = status.replicas == 8 && status.in_pool >= 5;
        if most { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    eventually("served requests", async || {
        let log = kubectl_with(&["-n", "lesson", "logs", "job/load", "--tail=50"], "").await;
        let served = log.stdout.contains(r#""outcome":"served""#);
        if served { Ok(()) } else { Err(log.stdout + &log.stderr) }
    })
    .await;
    kubectl(&["delete", "-f", "deploy/lesson/", "--wait=false"]).await;
}
