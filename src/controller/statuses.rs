//! When a policy's status is written, and at which version.
//!
//! Every write names the version of the object it was decided on, so a leader that does not know it was replaced is
//! refused with 409. A write holds the whole status; one at a time is under way for a policy. Intents are written at
//! once, everything else at most once a second.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::answer::{self, Failure};
use super::elect::Permit;
use super::ledger::Ledger;
use super::status::{self, Before};
use crate::api::{CONTROLLER, ProbePolicy, ProbePolicyStatus, RestartCounts, WouldHaveStatus};
use crate::cluster::Index;
use crate::cluster::records::{ObjectName, PolicyRecord, ResourceVersion};
use crate::engine::{EffectResult, Engine, Input, IntentId, PolicyKey, Readiness, Refusal, Span, Time, TransitionId};

/// From one write of a status to the next that is not about an intent.
const PACE: Span = Span::from_secs(1);
/// After a write that failed.
const RETRY: Span = Span::from_secs(5);

/// The statuses of all policies, as this leader has written them.
#[derive(Debug, Default)]
pub struct Statuses {
    desks: BTreeMap<PolicyKey, Desk>,
}

/// One policy's status, whole, to be written at a version.
#[derive(Clone, Debug)]
pub struct StatusWrite {
    /// Whose.
    pub policy: PolicyKey,
    name: ObjectName,
    version: ResourceVersion,
    status: ProbePolicyStatus,
}

/// What is to be done now.
#[derive(Debug, Default)]
pub struct Due {
    /// Writes to carry out; each is answered with [`Statuses::written`].
    pub writes: Vec<StatusWrite>,
    /// Intents that are not written, since the engine no longer holds them.
    pub unwritten: Vec<IntentId>,
    /// Whether the leader before wrote more than the index had shown when this leader's engine began.
    pub outdated: bool,
}

#[derive(Debug)]
struct Desk {
    /// The status as last acknowledged, or as the leader before left it.
    acknowledged: ProbePolicyStatus,
    /// The version that our last acknowledged write made.
    made: Option<ResourceVersion>,
    /// A write at this version was refused: somebody else has written, and the index is to show it first.
    overtaken: Option<ResourceVersion>,
    under_way: Option<UnderWay>,
    /// Restarts counted before this leader's engine began.
    restarts: RestartCounts,
    /// What enforcing would have done before this leader's engine began.
    would_have: Option<WouldHaveStatus>,
    ledger: Ledger,
    intents: Vec<IntentId>,
    next: Time,
}

#[derive(Debug)]
struct UnderWay {
    status: ProbePolicyStatus,
    version: ResourceVersion,
    intents: Vec<IntentId>,
}

impl StatusWrite {
    /// Carries the write out as the leader, and says which version of the policy it made.
    ///
    /// # Errors
    /// If it was not sent, not answered in time, or refused.
    pub async fn send(&self, actor: Client, permit: &Permit, timeout: Duration) -> Result<ResourceVersion, Failure> {
        let policies: Api<ProbePolicy> = Api::namespaced(actor, &self.name.namespace);
        let body = json!({
            "apiVersion": "probepolicy.dev/v1alpha1",
            "kind": "ProbePolicy",
            "metadata": {"name": *self.name.name, "resourceVersion": self.version.0},
            "status": self.status,
        });
        let (params, patch) = (PatchParams::apply(CONTROLLER).force(), Patch::Apply(body));
        // At a version that the first write has replaced, the second is refused.
        let request = || policies.patch_status(&self.name.name, &params, &patch);
        let written = answer::ask_again(permit, timeout, request).await?;
        Ok(ResourceVersion(written.metadata.resource_version.unwrap_or_default().into()))
    }
}

impl Statuses {
    /// The transitions of a policy, if it exists.
    pub fn ledger(&mut self, index: &Index, policy: PolicyKey) -> Option<&mut Ledger> {
        let record = index.policy(policy)?;
        Some(&mut self.desk(policy, record).ledger)
    }

    /// The API server acknowledged a transition; whose policy's it is and how long after the decision that was.
    pub fn published(&mut self, id: TransitionId, at: Time) -> Option<(PolicyKey, Span)> {
        self.desks.iter_mut().find_map(|(policy, desk)| Some((*policy, desk.ledger.published(id, at)?)))
    }

    /// A transition has reached the pool; whose policy's it is and how long after its publication that was.
    pub fn took(&mut self, id: TransitionId, at: Time) -> Option<(PolicyKey, Span)> {
        self.desks.iter_mut().find_map(|(policy, desk)| Some((*policy, desk.ledger.took(id, at)?)))
    }

    /// A pod has entered the slices, or left them; how long after the decision that was.
    pub fn propagated(&mut self, policy: PolicyKey, pod: &str, to: Readiness, at: Time) -> Option<Span> {
        self.desks.get_mut(&policy)?.ledger.propagated(pod, to, at)
    }

    /// An intent is to be written; answered by an [`Input::IntentResult`].
    pub fn intend(&mut self, index: &Index, intent: IntentId) {
        if let Some(record) = index.policy(intent.policy) {
            self.desk(intent.policy, record).intents.push(intent);
        }
    }

    /// Everything that is to be written at `now`.
    pub fn due(&mut self, index: &Index, engine: &Engine, now: Time) -> Due {
        self.desks.retain(|policy, _| index.policy(*policy).is_some());
        let mut due = Due::default();
        for (policy, record) in index.policies() {
            let desk = self.desk(policy, record);
            due.outdated |= desk.is_outdated(record);
            let Some(version) = desk.version(record, now) else { continue };
            let report = engine.report(policy, now).unwrap_or_default();
            let would_have = desk.would_have.as_ref();
            let before = Before { status: &desk.acknowledged, restarts: desk.restarts, would_have };
            let transitions = desk.ledger.statuses();
            let status = status::build(index, (policy, record), &report, transitions, before, now);
            let (held, dropped) = desk.take_intents(index, &status);
            due.unwritten.extend(dropped);
            desk.next = now + PACE;
            if status != desk.acknowledged || !held.is_empty() {
                let name = record.name.clone();
                due.writes.push(StatusWrite { policy, name, version: version.clone(), status: status.clone() });
                desk.under_way = Some(UnderWay { status, version, intents: held });
            }
        }
        due
    }

    /// A write was answered. The answers to its intents are for the engine.
    pub fn written(&mut self, policy: PolicyKey, result: Result<ResourceVersion, Failure>, now: Time) -> Vec<Input> {
        let Some(desk) = self.desks.get_mut(&policy) else { return Vec::new() };
        let Some(UnderWay { status, version, intents }) = desk.under_way.take() else { return Vec::new() };
        let result = match result {
            Ok(made) => {
                desk.acknowledged = status;
                desk.made = Some(made);
                EffectResult::Applied
            }
            Err(failure) => {
                let result = failure.result();
                match result {
                    EffectResult::Refused(Refusal::Changed) => desk.overtaken = Some(version),
                    EffectResult::Applied | EffectResult::Refused(_) | EffectResult::Unknown => {
                        desk.next = now + RETRY;
                        tracing::warn!(%failure, "could not write a policy's status");
                    }
                }
                result
            }
        };
        intents.into_iter().map(|intent| Input::IntentResult { intent, result }).collect()
    }

    fn desk(&mut self, policy: PolicyKey, record: &PolicyRecord) -> &mut Desk {
        self.desks.entry(policy).or_insert_with(|| Desk::new(record))
    }
}

impl Desk {
    fn new(record: &PolicyRecord) -> Self {
        let left = left(record);
        Self {
            ledger: Ledger::resume(&left.transitions),
            restarts: left.restarts,
            would_have: left.would_have.clone(),
            acknowledged: left,
            made: None,
            overtaken: None,
            under_way: None,
            intents: Vec::new(),
            next: Time::ZERO,
        }
    }

    /// Before our first acknowledged write, a status that differs from the one this leader began with is not ours.
    fn is_outdated(&self, record: &PolicyRecord) -> bool {
        self.made.is_none() && self.under_way.is_none() && left(record) != self.acknowledged
    }

    /// The version to write at now; `None` while there is nothing to write or it has to wait.
    fn version(&self, record: &PolicyRecord, now: Time) -> Option<ResourceVersion> {
        if self.under_way.is_some() || (self.intents.is_empty() && now < self.next) {
            return None;
        }
        let seen = &record.resource_version;
        let newest = self.made.as_ref().filter(|made| seen.is_before(made)).unwrap_or(seen);
        (self.overtaken.as_ref() != Some(newest)).then(|| newest.clone())
    }

    /// The intents that the status holds, and those that it does not. An intent is answered only by a write it is in.
    fn take_intents(&mut self, index: &Index, status: &ProbePolicyStatus) -> (Vec<IntentId>, Vec<IntentId>) {
        let written = |intent: &IntentId| {
            let Some(pod) = index.pod(intent.replica) else { return false };
            let intents = status.seats.iter().filter_map(|seat| seat.intent.as_ref());
            intents.into_iter().any(|intent| *intent.pod_uid == *pod.uid.0)
        };
        std::mem::take(&mut self.intents).into_iter().partition(written)
    }
}

/// The status as the leader before left it.
fn left(record: &PolicyRecord) -> ProbePolicyStatus {
    record.status.as_deref().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kube::api::PostParams;
    use kube::core::DeserializeGuard;

    use super::*;
    use crate::cluster::{Change, Scope, WatchEvent};
    use crate::controller::fixtures::{self, POLICY};
    use crate::controller::playground::{Playground, TIMEOUT};

    #[test]
    fn an_intent_is_written_at_once_and_answered_by_the_write_that_holds_it() {
        let mut index = fixtures::index();
        let (engine, intent, now) = fixtures::engine_with_an_intent(&mut index);
        let mut statuses = Statuses::default();
        let first = statuses.due(&index, &engine, now).writes;
        assert_eq!(first.len(), 1);
        assert_eq!(statuses.written(POLICY, made(2), now), []);

        statuses.intend(&index, intent);
        let due = statuses.due(&index, &engine, now);
        let [write] = &due.writes[..] else { panic!("{due:?}") };
        assert_eq!(*write.version.0, *"2");
        let written = write.status.seats[0].intent.as_ref().unwrap();
        assert_eq!((written.pod.as_str(), written.pod_uid.as_str()), ("web-x", "pod"));
        let applied = Input::IntentResult { intent, result: EffectResult::Applied };
        assert_eq!(statuses.written(POLICY, made(3), now), [applied]);
    }

    #[test]
    fn an_intent_that_the_engine_no_longer_holds_is_not_taken_for_written() {
        let mut index = fixtures::index();
        let (_, intent, now) = fixtures::engine_with_an_intent(&mut index);
        let mut statuses = Statuses::default();
        statuses.intend(&index, intent);
        assert_eq!(statuses.due(&index, &Engine::new(), now).unwritten, [intent]);
    }

    #[test]
    fn after_a_conflict_nothing_is_written_before_the_index_shows_who_wrote() {
        let mut index = fixtures::index();
        let (engine, intent, now) = fixtures::engine_with_an_intent(&mut index);
        let mut statuses = Statuses::default();
        statuses.intend(&index, intent);
        assert_eq!(statuses.due(&index, &engine, now).writes.len(), 1);
        let refused = Input::IntentResult { intent, result: EffectResult::Refused(Refusal::Changed) };
        assert_eq!(statuses.written(POLICY, conflict(), now), [refused]);

        statuses.intend(&index, intent);
        let later = now + PACE * 60;
        assert!(statuses.due(&index, &engine, later).writes.is_empty());
        index.apply(WatchEvent::Policies(Change::Applied(fixtures::policy(9))), later);
        assert_eq!(*statuses.due(&index, &engine, later).writes[0].version.0, *"9");
    }

    #[test]
    fn what_is_no_intent_waits_its_turn_and_what_has_not_changed_is_not_written() {
        let mut index = fixtures::index();
        let mut statuses = Statuses::default();
        let (nothing_yet, start) = (Engine::new(), Time::ZERO + Span::from_secs(50));
        assert_eq!(statuses.due(&index, &nothing_yet, start).writes.len(), 1);
        statuses.written(POLICY, made(2), start);

        let (engine, _, _) = fixtures::engine_with_an_intent(&mut index);
        assert!(statuses.due(&index, &engine, start + Span::from_millis(900)).writes.is_empty());
        assert_eq!(statuses.due(&index, &engine, start + PACE).writes.len(), 1);
        statuses.written(POLICY, made(3), start + PACE);
        assert!(statuses.due(&index, &engine, start + PACE * 9).writes.is_empty());
    }

    #[test]
    fn what_the_leader_before_wrote_last_and_the_index_shows_late_makes_the_engine_outdated() {
        let mut index = fixtures::index();
        let mut statuses = Statuses::default();
        assert!(!statuses.due(&index, &Engine::new(), Time::ZERO).outdated);
        assert_eq!(statuses.written(POLICY, conflict(), Time::ZERO), []);
        let late = fixtures::record(&fixtures::policy_text(2).replace("total: 7", "total: 8"));
        index.apply(WatchEvent::Policies(Change::Applied(late)), Time::ZERO);
        assert!(statuses.due(&index, &Engine::new(), Time::ZERO).outdated);
    }

    #[test]
    fn restarts_count_on_from_what_the_leader_before_left() {
        let index = fixtures::index();
        let due = Statuses::default().due(&index, &Engine::new(), Time::ZERO);
        let restarts = due.writes[0].status.restarts;
        assert_eq!((restarts.total, restarts.futile), (7, 2));
    }

    #[test]
    fn what_enforcing_would_have_done_counts_on_for_the_same_generation_only() {
        for (generation, admitted) in [(2, 5), (1, 1)] {
            let said = format!("{{generation: {generation}, since: '2026-01-01T00:00:00.000000Z', admitted: 4}}");
            let text = fixtures::policy_text(1)
                .replace("mode: Enforce", "mode: Observe")
                .replace("status: {", &format!("status: {{wouldHave: {said}, "));
            let (index, engine) = fixtures::engine_that_admits(&text);
            let due = Statuses::default().due(&index, &engine, Time::ZERO + Span::from_secs(90));
            let would_have = due.writes[0].status.would_have.clone().unwrap();
            assert_eq!((would_have.generation, would_have.counts.admitted), (2, admitted));
            assert_eq!(would_have.since.0.to_string().starts_with("2026"), generation == 2);
        }
    }

    fn made(version: u32) -> Result<ResourceVersion, Failure> {
        Ok(ResourceVersion(version.to_string().into()))
    }

    fn conflict() -> Result<ResourceVersion, Failure> {
        let status = kube::core::Status::failure("the object has been modified", "Conflict").with_code(409);
        Err(Failure::Kube(kube::Error::Api(status.boxed())))
    }

    #[tokio::test]
    #[ignore = "needs a cluster"]
    async fn a_write_at_a_version_that_somebody_else_has_replaced_is_refused() {
        let place = Playground::open("status").await;
        place.install_crd().await;
        let policies: Api<ProbePolicy> = Api::namespaced(place.clients.actor.clone(), &place.namespace);
        let spec = json!({"selector": {"matchLabels": {"app": "web"}}});
        let policy = json!({
            "apiVersion": "probepolicy.dev/v1alpha1", "kind": "ProbePolicy", "metadata": {"name": "web"}, "spec": spec,
        });
        let policy: ProbePolicy = serde_json::from_value(policy).unwrap();
        let policy = policies.create(&PostParams::default(), &policy).await.unwrap();
        let mut index = Index::new(&Scope::Cluster);
        let record = DeserializeGuard(Ok(policy)).into();
        index.apply(WatchEvent::Policies(Change::Applied(record)), Time::ZERO);

        let mut statuses = Statuses::default();
        let due = statuses.due(&index, &Engine::new(), Time::ZERO);
        let (actor, permit) = (place.clients.actor.clone(), place.permit());
        due.writes[0].send(actor.clone(), &permit, TIMEOUT).await.unwrap();
        let refused = due.writes[0].send(actor, &permit, TIMEOUT).await.unwrap_err();
        assert_eq!(refused.result(), EffectResult::Refused(Refusal::Changed));
        place.close().await;
    }
}
