//! The latest transitions of a policy's replicas, as the status shows them.

use std::collections::VecDeque;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use crate::api::{ProbePolicyStatus, TransitionStatus};
use crate::engine::{FleetTransition, Readiness, Reason, Span, Time, Transition, TransitionId, TransitionKind};
use crate::runtime::timestamp;

/// A bounded list, newest first. It begins with what an earlier controller left in the status.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    status: TransitionStatus,
    /// `None` if nothing more will be heard of it: it is of an earlier controller, or of the fleet as a whole.
    live: Option<Live>,
}

#[derive(Debug)]
struct Live {
    id: TransitionId,
    decided: Time,
    published: Option<Time>,
}

impl Ledger {
    /// The ledger as an earlier controller left it.
    pub fn resume(left: &[TransitionStatus]) -> Self {
        let entries = left.iter().map(|status| Entry { status: status.clone(), live: None });
        Self { entries: entries.collect() }
    }

    /// A transition of the pod was decided.
    pub fn record(&mut self, pod: &str, transition: &Transition) {
        let status = status(Some(pod), transition.kind.name(), transition.reason, transition.at);
        let live = Live { id: transition.id, decided: transition.at, published: None };
        self.push(Entry { status, live: Some(live) });
    }

    /// A transition of the fleet as a whole was decided.
    pub fn record_fleet(&mut self, transition: &FleetTransition) {
        let status = status(None, transition.kind.name(), transition.reason, transition.at);
        self.push(Entry { status, live: None });
    }

    /// The API server acknowledged a transition; says how long after the decision, if it is still listed.
    pub fn published(&mut self, id: TransitionId, at: Time) -> Option<Span> {
        let (status, live) = self.live(id)?;
        status.published = Some(MicroTime(timestamp(at)));
        live.published = Some(at);
        Some(at.since(live.decided))
    }

    /// A transition has reached the pool; says how long after it was published, if it is still listed.
    pub fn took(&mut self, id: TransitionId, at: Time) -> Option<Span> {
        let (status, live) = self.live(id)?;
        status.effective = Some(MicroTime(timestamp(at)));
        Some(at.since(live.published?))
    }

    /// A pod has entered the slices, or left them; says how long after the decision, if that is the latest on its gate.
    pub fn propagated(&mut self, pod: &str, to: Readiness, at: Time) -> Option<Span> {
        let (wanted, other) = match to {
            Readiness::Ready => (TransitionKind::Admitted, TransitionKind::Ejected),
            Readiness::NotReady => (TransitionKind::Ejected, TransitionKind::Admitted),
        };
        let of_gate = |entry: &&mut Entry| {
            entry.status.pod.as_deref() == Some(pod) && [wanted.name(), other.name()].contains(&&*entry.status.kind)
        };
        let Entry { status, live } = self.entries.iter_mut().find(of_gate)?;
        let live = live.as_ref().filter(|_| status.kind == wanted.name() && status.propagated.is_none())?;
        status.propagated = Some(MicroTime(timestamp(at)));
        Some(at.since(live.decided))
    }

    /// What the status shows.
    pub fn statuses(&self) -> Vec<TransitionStatus> {
        self.entries.iter().map(|entry| entry.status.clone()).collect()
    }

    fn push(&mut self, entry: Entry) {
        self.entries.push_front(entry);
        self.entries.truncate(ProbePolicyStatus::LIST_LIMIT);
    }

    fn live(&mut self, id: TransitionId) -> Option<(&mut TransitionStatus, &mut Live)> {
        self.entries.iter_mut().find_map(|entry| {
            let live = entry.live.as_mut().filter(|live| live.id == id)?;
            Some((&mut entry.status, live))
        })
    }
}

fn status(pod: Option<&str>, kind: &str, reason: Reason, decided: Time) -> TransitionStatus {
    TransitionStatus {
        pod: pod.map(str::to_owned),
        kind: kind.to_owned(),
        reason: reason.name().to_owned(),
        message: reason.to_string(),
        decided: MicroTime(timestamp(decided)),
        published: None,
        effective: None,
        propagated: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ReplicaKey;

    #[test]
    fn a_transition_gets_its_three_times_and_the_delays_between_them() {
        let mut ledger = Ledger::default();
        ledger.record("web-0", &transition(1, 100));
        assert_eq!(ledger.published(TransitionId(1), at(120)), Some(Span::from_millis(20)));
        assert_eq!(ledger.took(TransitionId(1), at(137)), Some(Span::from_millis(17)));
        let [status] = ledger.statuses().try_into().unwrap();
        assert_eq!((status.kind.as_str(), status.pod.as_deref()), ("Ejected", Some("web-0")));
        assert_eq!(status.effective, Some(MicroTime(timestamp(at(137)))));
    }

    #[test]
    fn a_pod_that_leaves_the_slices_does_so_for_the_latest_decision_on_its_gate_and_once() {
        let mut ledger = Ledger::default();
        ledger.record("web-0", &transition(1, 100));
        assert_eq!(ledger.propagated("web-1", Readiness::NotReady, at(140)), None);
        assert_eq!(ledger.propagated("web-0", Readiness::Ready, at(140)), None);
        assert_eq!(ledger.propagated("web-0", Readiness::NotReady, at(141)), Some(Span::from_millis(41)));
        assert_eq!(ledger.propagated("web-0", Readiness::NotReady, at(150)), None);
        assert_eq!(ledger.statuses()[0].propagated, Some(MicroTime(timestamp(at(141)))));
    }

    #[test]
    fn the_newest_come_first_and_the_oldest_are_dropped() {
        let mut earlier = Ledger::default();
        earlier.record("web-old", &transition(0, 0));
        let mut ledger = Ledger::resume(&earlier.statuses());
        for id in 0..ProbePolicyStatus::LIST_LIMIT as u64 {
            ledger.record(&format!("web-{id}"), &transition(id, id));
        }
        let pods: Vec<_> = ledger.statuses().into_iter().filter_map(|status| status.pod).collect();
        assert_eq!(pods.first().map(String::as_str), Some("web-19"));
        assert!(!pods.contains(&"web-old".to_owned()));
    }

    #[test]
    fn what_an_earlier_controller_left_is_never_taken_for_ones_own() {
        let mut earlier = Ledger::default();
        earlier.record("web-0", &transition(1, 0));
        let mut ledger = Ledger::resume(&earlier.statuses());
        assert_eq!(ledger.published(TransitionId(1), at(5)), None);
    }

    fn transition(id: u64, millis: u64) -> Transition {
        Transition {
            id: TransitionId(id),
            policy: None,
            replica: ReplicaKey { index: 0, generation: 0 },
            at: at(millis),
            kind: TransitionKind::Ejected,
            reason: Reason::NotRunning,
        }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }
}
