//! Requests through the Service's address, sent from within the cluster.

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{ListParams, LogParams};
use probe_policy::fake_app::load::{Line, Outcome};
use serde_json::json;

use super::fleet::{container, pod};
use super::{Namespace, eventually, seconds};

/// Twenty requests a second.
pub struct Load {
    pods: Api<Pod>,
}

/// A request, and how it went.
#[derive(Clone, Debug)]
pub struct Request {
    pub sent: Timestamp,
    /// Who answered, if anybody.
    pub pod: Option<String>,
    pub outcome: Outcome,
}

/// When a pod of the load is out of its pool.
pub struct Absence {
    pub start: Timestamp,
    /// From here on requests that it gets may be lost.
    pub fault: Timestamp,
    pub out: Timestamp,
    pub back: Timestamp,
}

impl Namespace {
    /// Begins to send requests to the Service's address, for so many seconds.
    pub async fn load(&self, turns: u32) -> Load {
        let service = self.api::<Service>().get("fake").await.unwrap().spec.unwrap();
        let address = format!("--url=http://{}:80", service.cluster_ip.unwrap());
        let fleet = self.api::<Pod>().list(&ListParams::default().labels("app=fake")).await.unwrap();
        let hosts = fleet.items.into_iter().map(|pod| format!("{}:8080", pod.status.unwrap().pod_ip.unwrap()));
        let endpoints = format!("--endpoints={}", hosts.collect::<Vec<_>>().join(","));
        let args = ["load", &address, &endpoints, "--rate=20", &format!("--turns={turns}")].map(str::to_owned).to_vec();
        let mut load = container("load", args);
        load["volumeMounts"] = json!([]);
        let mut spec = pod(vec![load]);
        spec["restartPolicy"] = "Never".into();
        self.apply::<Pod>(json!({"metadata": {"name": "load"}, "spec": spec})).await;
        let load = Load { pods: self.api() };
        load.reaches("Running").await;
        load
    }
}

impl Load {
    /// What happened to every request, in the order in which they were sent.
    pub async fn finish(self) -> Vec<Request> {
        self.reaches("Succeeded").await;
        let log = self.pods.logs("load", &LogParams::default()).await.unwrap();
        let lines: Vec<Line> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let Some(Line::Summary(summary)) = lines.last() else { panic!("a load ends with its summary: {log}") };
        let mut requests: Vec<_> = lines.iter().filter_map(|line| request(line, summary.start)).collect();
        requests.sort_by_key(|request| request.sent);
        requests
    }

    async fn reaches(&self, phase: &str) {
        eventually(&format!("a {phase} load"), async || {
            let status = self.pods.get("load").await.map_err(|error| error.to_string())?.status.unwrap_or_default();
            let reached = status.phase.as_deref() == Some(phase);
            if reached { Ok(()) } else { Err(format!("{:?}", status.phase)) }
        })
        .await;
    }
}

impl Absence {
    /// The pod gets requests before and after, and none meanwhile; nothing else is lost.
    pub fn assert_kept(&self, pod: &str, requests: &[Request]) {
        let Self { start, fault, out, back } = *self;
        let to_its_pod = |from: Timestamp, to: Timestamp| {
            let sent = requests.iter().filter(move |request| request.sent >= from && request.sent < to);
            sent.filter(|request| request.pod.as_deref() == Some(pod)).count()
        };
        let propagated = seconds(2); // by kube-proxy
        assert_eq!(to_its_pod(out + propagated, back), 0, "out {out}, back {back}: {requests:#?}");
        assert!(to_its_pod(start, out) > 0 && to_its_pod(back, Timestamp::MAX) > 0, "{requests:#?}");
        let lost = requests.iter().filter(|request| request.outcome != Outcome::Served);
        let outside = lost.filter(|it| it.sent < fault || it.sent > out + propagated);
        assert_eq!(outside.count(), 0, "fault {fault}, out {out}: {requests:#?}");
    }
}

fn request(line: &Line, start: Timestamp) -> Option<Request> {
    match line {
        Line::Request(request) => Some(Request {
            sent: start + SignedDuration::from_secs_f64(request.at_ms / 1e3),
            pod: request.pod.clone(),
            outcome: request.outcome,
        }),
        Line::Truth(_) | Line::Summary(_) => None,
    }
}
