//! When a decision about a replica passed the stations on its way to the traffic, as a watch saw it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::replica;
use crate::api::GATE;
use crate::engine::Time;
use crate::fake_app::Start;
use crate::model::propagation::Move;

/// Where a decision is seen, in the order in which it passes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Station {
    /// The pod's condition that is our gate.
    Gate,
    /// The pod's condition `Ready`, which the kubelet writes.
    Ready,
    /// The endpoint of the pod in the Service's slices.
    Endpoint,
}

/// A decision, seen at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When, in the scenario's time.
    pub at: Time,
    /// About which replica.
    pub replica: usize,
    /// Where.
    pub station: Station,
    /// What was decided.
    pub decision: Move,
}

/// Takes down what changes.
pub(super) struct Chronicle {
    start: Timestamp,
    standings: BTreeMap<(usize, Station), Move>,
    /// The replicas that are ready in each slice, by its name.
    slices: BTreeMap<String, BTreeSet<usize>>,
    seen: Vec<Seen>,
}

impl Chronicle {
    /// Nothing yet. The scenario begins at `start`; nothing that is seen before is taken down.
    pub fn new(start: Timestamp) -> Self {
        Self { start, standings: BTreeMap::new(), slices: BTreeMap::new(), seen: Vec::new() }
    }

    /// What was taken down, in its order.
    pub fn seen(self) -> Vec<Seen> {
        self.seen
    }

    /// Takes note of a replica's pod as it was at `now`.
    pub fn pod(&mut self, replica: usize, pod: &Pod, now: Timestamp) {
        let conditions = || pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        for (station, name) in [(Station::Gate, GATE), (Station::Ready, "Ready")] {
            let holds = conditions().any(|condition| condition.type_ == name && condition.status == "True");
            self.stands(replica, station, if holds { Move::Admit } else { Move::Eject }, now);
        }
    }

    /// Takes note of one of the Service's slices as it was at `now`.
    pub fn slice(&mut self, slice: &EndpointSlice, now: Timestamp) {
        let ready = slice
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true))
            .filter_map(|endpoint| replica(endpoint.target_ref.as_ref()?.name.as_deref()?));
        self.slices.insert(slice.name_any(), ready.collect());
        let ready: BTreeSet<_> = self.slices.values().flatten().copied().collect();
        let known = self.standings.keys().map(|(replica, _)| *replica);
        for replica in known.chain(ready.iter().copied()).collect::<BTreeSet<_>>() {
            let standing = if ready.contains(&replica) { Move::Admit } else { Move::Eject };
            self.stands(replica, Station::Endpoint, standing, now);
        }
    }

    fn stands(&mut self, replica: usize, station: Station, decision: Move, now: Timestamp) {
        let before = self.standings.insert((replica, station), decision);
        if let (true, Some(at)) = (before != Some(decision), Start::At(self.start).time(now)) {
            self.seen.push(Seen { at, replica, station, decision });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(conditions: Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "fake-1"}, "status": {"conditions": conditions}})).unwrap()
    }

    fn slice(ready: bool) -> EndpointSlice {
        serde_json::from_value(json!({
            "metadata": {"name": "fake-x"}, "addressType": "IPv4", "endpoints": [
                {"addresses": ["10.0.0.1"], "targetRef": {"name": "fake-0"}},
                {"addresses": ["10.0.0.2"], "targetRef": {"name": "fake-1"}, "conditions": {"ready": ready}},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn a_decision_is_taken_down_once_at_each_station_and_not_before_the_start() {
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let at = |millis| start + k8s_openapi::jiff::SignedDuration::from_millis(millis);
        let condition = |name: &str, status: &str| json!({"type": name, "status": status});
        let mut chronicle = Chronicle::new(start);
        chronicle.pod(1, &pod(json!([condition(GATE, "True"), condition("Ready", "True")])), at(-500));
        chronicle.slice(&slice(true), at(-400));
        let closed = pod(json!([condition(GATE, "False"), condition("Ready", "True")]));
        chronicle.pod(1, &closed, at(100));
        chronicle.pod(1, &closed, at(150));
        chronicle.pod(1, &pod(json!([condition(GATE, "False"), condition("Ready", "False")])), at(200));
        chronicle.slice(&slice(false), at(300));
        let seen: Vec<_> = chronicle.seen().iter().map(|seen| (seen.station, seen.at.since(Time::ZERO))).collect();
        let millis = crate::engine::Span::from_millis;
        assert_eq!(
            seen,
            [(Station::Gate, millis(100)), (Station::Ready, millis(200)), (Station::Endpoint, millis(300))]
        );
    }
}
