//! Kubernetes events: one for each transition on its pod, and those about restarts on the policy too. A token bucket
//! per object spares the API server; what it drops is still in status, log and metrics.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType};

use crate::cluster::records::{ObjectName, Uid};
use crate::engine::{FleetTransition, FleetTransitionKind, Reason, Span, Time, Transition, TransitionKind};

/// An event and the object it is about.
pub struct Announcement {
    /// The event.
    pub event: Event,
    /// What it is about.
    pub about: ObjectReference,
}

/// An object that events are about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a ObjectName,
    /// Its UID.
    pub uid: &'a Uid,
}

/// Decides which transitions become events.
#[derive(Debug, Default)]
pub struct Announcer {
    buckets: BTreeMap<Uid, Bucket>,
}

/// The most events on one object at once.
const BURST: u32 = 10;
/// After a burst, one event on an object every so often.
const REFILL: Span = Span::from_secs(30);
/// Objects whose bucket is remembered; a full bucket need not be.
const REMEMBERED: usize = 1024;

#[derive(Debug)]
struct Bucket {
    tokens: u32,
    refilled: Time,
}

impl Announcer {
    /// The events of a transition; how many more there would be without the buckets comes second.
    pub fn announce(
        &mut self,
        transition: &Transition,
        pod: Subject<'_>,
        policy: Option<Subject<'_>>,
    ) -> (Vec<Announcement>, u32) {
        let pod_reference = reference("v1", "Pod", pod);
        let policy = policy.filter(|_| is_about_restarts(transition.kind));
        let on_policy = policy.map(|policy| (policy, reference("probepolicy.dev/v1alpha1", "ProbePolicy", policy)));
        let mut announcements = Vec::new();
        let mut dropped = 0;
        let on_pod = Some((pod, pod_reference.clone(), None));
        let on_policy = on_policy.map(|(policy, reference)| (policy, reference, Some(pod_reference)));
        for (subject, about, secondary) in on_pod.into_iter().chain(on_policy) {
            if self.take(subject.uid, transition.at) {
                let event = event(severity(transition.kind), transition.kind.name(), transition.reason, secondary);
                announcements.push(Announcement { event, about });
            } else {
                dropped += 1;
            }
        }
        (announcements, dropped)
    }

    /// The event of a transition of a fleet as a whole, on its policy; `None` if its bucket is empty.
    pub fn announce_fleet(&mut self, transition: &FleetTransition, policy: Subject<'_>) -> Option<Announcement> {
        let severity = match transition.kind {
            FleetTransitionKind::BreakerOpened
            | FleetTransitionKind::FellBelowFloor
            | FleetTransitionKind::DependencyWentDown => EventType::Warning,
            FleetTransitionKind::BreakerClosed
            | FleetTransitionKind::CameBackToFloor
            | FleetTransitionKind::DependencyCameBack => EventType::Normal,
        };
        self.take(policy.uid, transition.at).then(|| Announcement {
            event: event(severity, transition.kind.name(), transition.reason, None),
            about: reference("probepolicy.dev/v1alpha1", "ProbePolicy", policy),
        })
    }

    fn take(&mut self, uid: &Uid, now: Time) -> bool {
        if self.buckets.len() >= REMEMBERED {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        self.buckets.entry(uid.clone()).or_insert(Bucket { tokens: BURST, refilled: now }).take(now)
    }
}

impl Bucket {
    fn take(&mut self, now: Time) -> bool {
        while self.tokens < BURST && self.refilled + REFILL <= now {
            self.tokens += 1;
            self.refilled = self.refilled + REFILL;
        }
        if self.tokens == BURST {
            self.refilled = now;
        }
        let taken = self.tokens > 0;
        self.tokens -= u32::from(taken);
        taken
    }

    fn is_full(&self, now: Time) -> bool {
        self.refilled + REFILL * u64::from(BURST - self.tokens) <= now
    }
}

fn is_about_restarts(kind: TransitionKind) -> bool {
    match kind {
        TransitionKind::Started
        | TransitionKind::Admitted
        | TransitionKind::Ejected
        | TransitionKind::WouldHaveRestarted
        | TransitionKind::WouldHaveEjected
        | TransitionKind::WouldHaveAdmitted
        | TransitionKind::WouldHaveHeld => false,
        TransitionKind::RestartDecided
        | TransitionKind::Restarted
        | TransitionKind::RestartRefused
        | TransitionKind::LoopBegan
        | TransitionKind::LoopEnded
        | TransitionKind::Returned
        | TransitionKind::DidNotReturn => true,
    }
}

fn event(severity: EventType, kind: &str, reason: Reason, secondary: Option<ObjectReference>) -> Event {
    Event {
        type_: severity,
        reason: kind.to_owned(),
        note: Some(reason.to_string()),
        action: reason.name().to_owned(),
        secondary,
    }
}

fn severity(kind: TransitionKind) -> EventType {
    match kind {
        TransitionKind::Started
        | TransitionKind::Admitted
        | TransitionKind::LoopEnded
        | TransitionKind::Returned
        | TransitionKind::WouldHaveRestarted
        | TransitionKind::WouldHaveEjected
        | TransitionKind::WouldHaveAdmitted
        | TransitionKind::WouldHaveHeld => EventType::Normal,
        TransitionKind::Ejected
        | TransitionKind::RestartDecided
        | TransitionKind::Restarted
        | TransitionKind::RestartRefused
        | TransitionKind::LoopBegan
        | TransitionKind::DidNotReturn => EventType::Warning,
    }
}

fn reference(api_version: &str, kind: &str, subject: Subject<'_>) -> ObjectReference {
    ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        name: Some(subject.name.name.to_string()),
        namespace: Some(subject.name.namespace.to_string()),
        uid: Some(subject.uid.0.to_string()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Reason, ReplicaKey, TransitionId};

    #[test]
    fn a_restart_is_told_on_the_pod_and_on_the_policy_with_the_pod_beside_it() {
        let (announcements, dropped) = announce(&mut Announcer::default(), TransitionKind::Restarted, 0);
        assert_eq!(dropped, 0);
        let kinds: Vec<_> = announcements.iter().map(|told| told.about.kind.as_deref()).collect();
        assert_eq!(kinds, [Some("Pod"), Some("ProbePolicy")]);
        let beside = announcements[1].event.secondary.as_ref().unwrap();
        assert_eq!(beside.name.as_deref(), Some("web-0"));
    }

    #[test]
    fn an_ejection_is_told_on_the_pod_only() {
        let (announcements, _) = announce(&mut Announcer::default(), TransitionKind::Ejected, 0);
        assert_eq!(announcements.len(), 1);
        assert_eq!(announcements[0].event.reason, "Ejected");
        assert_eq!(announcements[0].event.note.as_deref(), Some("the container is not running"));
    }

    #[test]
    fn an_object_that_flaps_gets_a_burst_and_then_one_event_per_refill() {
        let mut announcer = Announcer::default();
        let mut told = 0;
        for second in 0..100 {
            told += announce(&mut announcer, TransitionKind::Ejected, second).0.len();
        }
        assert_eq!(told, 10 + 3);
    }

    fn announce(announcer: &mut Announcer, kind: TransitionKind, second: u64) -> (Vec<Announcement>, u32) {
        let transition = Transition {
            id: TransitionId(1),
            policy: None,
            replica: ReplicaKey { index: 0, generation: 0 },
            at: Time::ZERO + Span::from_secs(second),
            kind,
            reason: Reason::NotRunning,
        };
        let (pod, policy) = (ObjectName::new("shop", "web-0"), ObjectName::new("shop", "web"));
        let (pod_uid, policy_uid) = (Uid("1".into()), Uid("2".into()));
        let pod = Subject { name: &pod, uid: &pod_uid };
        announcer.announce(&transition, pod, Some(Subject { name: &policy, uid: &policy_uid }))
    }
}
