//! Everything from the start, for an engine that begins.

use std::collections::BTreeMap;

use super::{Index, Touched};
use crate::api::{DependencyStatus, ProbePolicyStatus, SeatName, SeatStatus};
use crate::cluster::records::Uid;
use crate::engine::{Input, Intent, IntentStage, Lifecycle, PerRule, PolicyKey, ReplicaKey, SeatKey, SeatMemory, Slot};
use crate::runtime::time;

impl Index {
    /// Everything an engine that knows nothing must hear, ending with [`Input::Synced`]. Ask once [`Index::is_synced`].
    pub fn replay(&mut self) -> Vec<Input> {
        let policies: Vec<PolicyKey> = self.policies.iter().map(|(policy, _)| policy).collect();
        let restored: Vec<Input> = policies.iter().flat_map(|&policy| self.restore(policy)).collect();
        let mut inputs = Vec::new();
        self.owners.replay(&mut inputs);
        self.nodes.replay(&mut inputs);
        self.policies.replay(&mut inputs);
        inputs.extend(restored);
        for (replica, name) in self.replicas.iter() {
            if let Some(seen) = self.pods.get(name).and_then(|pod| pod.told()) {
                inputs.push(Input::ReplicaSeen { replica, seen: Box::new(seen.clone()) });
            }
        }
        inputs.extend(self.leases.deaf_until().map(|until| Input::Deaf { until }));
        inputs.push(Input::Synced);
        self.slices.touch(Touched::Pools);
        inputs
    }

    /// What a policy's status remembers from before this engine: rules that somebody passed, and seats whose owner
    /// still exists. New owners and nodes that it names are told first.
    pub fn restore(&mut self, policy: PolicyKey) -> Vec<Input> {
        let Some(status) = self.policies.get(policy).and_then(|record| record.status.clone()) else {
            return Vec::new();
        };
        let mut inputs = Vec::new();
        if let Some(rules) = self.passed_before(policy) {
            inputs.push(Input::PassedBefore { policy, rules });
        }
        inputs.extend(self.dependencies_passed_before(policy, &status));
        if let Some(whole_at) = status.restart_budget.as_ref().and_then(|budget| budget.whole_at.as_ref()) {
            inputs.push(Input::BudgetRestored { policy, whole_at: time(whole_at.0) });
        }
        for startups in &status.startups {
            let revision = startups.revision.as_deref().map(|name| self.revisions.key(name));
            inputs.push(Input::StartupsRestored { policy, revision, times: startups.times() });
        }
        if status.heartbeat.is_some_and(|heartbeat| heartbeat.ever_beat) {
            inputs.push(Input::BeatBefore { policy });
        }
        let replicas = self.live_replicas();
        for seat in &status.seats {
            if let Some((seat, memory)) = self.seat(seat, &replicas, &mut inputs) {
                inputs.push(Input::SeatRestored { policy, seat, memory });
            }
        }
        inputs
    }

    /// Only a rule that asks what it asked then counts as passed.
    fn passed_before(&self, policy: PolicyKey) -> Option<PerRule<bool>> {
        let record = self.policies.get(policy)?;
        let spec = self.policies.in_force(policy)?;
        let mut passed = PerRule::default();
        for rule in record.status.iter().flat_map(|status| &status.rules) {
            let kind = rule.name.into();
            let question = spec.policy.rule(kind).map(|rule| rule.question.to_string());
            passed[kind] = rule.ever_passed && question.as_ref() == Some(&rule.question);
        }
        Some(passed)
    }

    /// Likewise a dependency.
    fn dependencies_passed_before(&self, policy: PolicyKey, status: &ProbePolicyStatus) -> Vec<Input> {
        let listed = self.policies.in_force(policy).into_iter().flat_map(|spec| &spec.policy.dependencies);
        let passed = listed.filter(|dependency| {
            let question = dependency.rule.question.to_string();
            let asked_so =
                |said: &&DependencyStatus| (&*said.name, &said.question) == (dependency.name.as_str(), &question);
            status.dependencies.iter().find(asked_so).is_some_and(|said| said.ever_passed)
        });
        passed.map(|dependency| Input::DependencyPassedBefore { policy, dependency: dependency.name }).collect()
    }

    /// A replica that is gone or being ended is named by nobody: its seat is open.
    fn seat(
        &mut self,
        seat: &SeatStatus,
        replicas: &BTreeMap<Uid, ReplicaKey>,
        inputs: &mut Vec<Input>,
    ) -> Option<(SeatKey, SeatMemory)> {
        let replica = |uid: &str| replicas.get(&Uid(uid.into())).copied();
        let owner = self.owners.key_of(&Uid(seat.owner_uid.as_str().into()), inputs)?;
        let slot = match &seat.name {
            SeatName::Ordinal(ordinal) => Slot::Ordinal(*ordinal),
            SeatName::Node(node) => Slot::Node(self.nodes.key(node, inputs)),
            SeatName::Nth(n) => Slot::Nth(*n),
        };
        let intent = seat.intent.as_ref().map(|intent| Intent {
            replica: replica(&intent.pod_uid),
            rule: intent.rule.into(),
            at: time(intent.time.0),
            stage: if intent.carried_out { IntentStage::CarriedOut } else { IntentStage::Recorded },
        });
        let last = seat.last_restart.as_ref().map(|last| time(last.0));
        let occupant = seat.pod_uid.as_deref().and_then(replica);
        let SeatStatus { restarts, foreign, futile, cut_short, .. } = *seat;
        let last_rule = seat.last_rule.map(Into::into);
        let memory = SeatMemory { restarts, foreign, futile, cut_short, last_rule, last, intent, occupant };
        Some((SeatKey { owner, slot }, memory))
    }

    fn live_replicas(&self) -> BTreeMap<Uid, ReplicaKey> {
        let live = self.pods.values().filter(|pod| pod.record.lifecycle == Lifecycle::Live);
        live.filter_map(|pod| Some((pod.record.uid.clone(), pod.replica?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
    use serde_json::json;

    use super::*;
    use crate::cluster::test_support::{FIRST, OLDEST, World, owner, policy, web};
    use crate::engine::{DependencyName, OwnerKey, Question, RuleKind};

    #[test]
    fn a_replay_tells_a_new_engine_what_the_old_one_knew() {
        let mut world = World::new();
        let mut told = world.owner(owner::<ReplicaSet>("web", json!({"spec": {"replicas": 1, "selector": {}}})));
        told.extend(world.policy(policy("p", "00:00:00").record()));
        told.extend(world.pod(web("a").owned("ReplicaSet", "web")));
        let replayed = world.replay();
        assert!(told.iter().all(|input| replayed.contains(input)), "{told:?} is not all in {replayed:?}");
        assert_eq!(replayed.last(), Some(&Input::Synced));
        assert_eq!(replayed.len(), told.len() + 1);
    }

    #[test]
    fn a_dependency_has_passed_before_only_what_it_is_asked_now() {
        let selector = json!({"matchLabels": {"app": "db"}});
        let listed = |name: &str| json!({"name": name, "selector": selector, "tcpSocket": {"port": 5432}});
        let builder = || policy("p", "00:00:00").spec("fleet", json!({"dependencies": [listed("db"), listed("old")]}));
        let question = builder().record().spec.unwrap().policy.dependencies[0].rule.question;
        let other = Question(question.0 + 1);
        let said = |name: &str, question: Question| json!({"name": name, "everPassed": true, "question": question.to_string()});
        let status = json!({"dependencies": [said("db", question), said("old", other)]});
        let mut world = World::new();
        world.policy(builder().status(status).record());
        let restored = world.index.restore(OLDEST);
        let is_told = |name| {
            let dependency = DependencyName::new(name).unwrap();
            restored.contains(&Input::DependencyPassedBefore { policy: OLDEST, dependency })
        };
        assert_eq!([is_told("db"), is_told("old")], [true, false]);
    }

    #[test]
    fn seats_and_passed_rules_come_back_from_the_status() {
        let mut world = World::new();
        let seat = |name: &str, pod: &str, carried_out: bool| {
            let (uid, at) = (format!("uid-{pod}"), "2026-01-01T00:10:00.5Z");
            let intent = json!({"pod": pod, "podUID": uid, "rule": "liveness", "time": at, "carriedOut": carried_out});
            json!({"name": name, "owner": "StatefulSet/fake", "ownerUID": "uid-fake", "podUID": uid,
                "restarts": 2, "foreign": 1, "futile": 1, "cutShort": 2, "lastRule": "startup",
                "lastRestart": "2026-01-01T00:05:00.000000Z", "intent": intent})
        };
        let asked = policy("p", "00:00:00").record().spec.unwrap().policy.rules.liveness.unwrap().question;
        let status = json!({
            "rules": [
                {"name": "liveness", "everPassed": true, "question": asked.to_string()},
                {"name": "readiness", "everPassed": true, "question": "0000000000000001"},
            ],
            "seats": [
                seat("ordinal/3", "fake-3", false),
                seat("ordinal/4", "fake-4", true),
                {"name": "nth/0", "owner": "ReplicaSet/gone", "ownerUID": "uid-gone", "restarts": 1},
            ],
        });
        world.owner(owner::<StatefulSet>("fake", json!({"spec": {"serviceName": "", "selector": {}, "template": {}}})));
        world.policy(policy("p", "00:00:00").status(status).record());
        world.pod(web("fake-3").owned("StatefulSet", "fake"));
        world.pod(web("fake-4").owned("StatefulSet", "fake").deleted());
        let restored = world.index.restore(OLDEST);
        let at = time("2026-01-01T00:10:00.5Z".parse().unwrap());
        let intent = |replica, stage| Some(Intent { replica, rule: RuleKind::Liveness, at, stage });
        let seat = |ordinal, occupant, stage| Input::SeatRestored {
            policy: OLDEST,
            seat: SeatKey { owner: OwnerKey(0), slot: Slot::Ordinal(ordinal) },
            memory: SeatMemory {
                restarts: 2,
                foreign: 1,
                futile: 1,
                cut_short: 2,
                last_rule: Some(RuleKind::Startup),
                last: Some(time("2026-01-01T00:05:00Z".parse().unwrap())),
                intent: intent(occupant, stage),
                occupant,
            },
        };
        let rules = PerRule { startup: false, liveness: true, readiness: false };
        assert_eq!(
            restored,
            [
                Input::PassedBefore { policy: OLDEST, rules },
                seat(3, Some(FIRST), IntentStage::Recorded),
                seat(4, None, IntentStage::CarriedOut),
            ]
        );
    }
}
