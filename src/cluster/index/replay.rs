//! Everything from the start, for an engine that begins.

use std::collections::BTreeMap;

use super::Index;
use crate::api::{SeatName, SeatStatus};
use crate::cluster::records::Uid;
use crate::cluster::time;
use crate::engine::{Input, Intent, IntentStage, Lifecycle, PerRule, PolicyKey, ReplicaKey, SeatKey, SeatMemory, Slot};

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
        inputs.push(Input::Synced);
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
            let question = spec.policy.rule(kind).map(|rule| format!("{:016x}", rule.question.0));
            passed[kind] = rule.ever_passed && question.as_ref() == Some(&rule.question);
        }
        Some(passed)
    }

    /// An intent counts as carried out once a restart at or after it is written down. Until then nobody knows whether
    /// the earlier engine came to ask for it, and the engine finds out by whether the replica is still there.
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
        let live = |replica: &ReplicaKey| self.pod(*replica).is_some_and(|pod| pod.lifecycle == Lifecycle::Live);
        let intent = seat.intent.as_ref().map(|intent| Intent {
            replica: replica(&intent.pod_uid).filter(live),
            rule: intent.rule.into(),
            at: time(intent.time.0),
            stage: if intent.carried_out { IntentStage::CarriedOut } else { IntentStage::Recorded },
        });
        let last = seat.last_restart.as_ref().map(|last| time(last.0));
        let occupant = seat.pod_uid.as_deref().and_then(replica);
        let memory = SeatMemory { restarts: seat.restarts, foreign: seat.foreign, last, intent, occupant };
        Some((SeatKey { owner, slot }, memory))
    }

    fn live_replicas(&self) -> BTreeMap<Uid, ReplicaKey> {
        let live = self.pods.values().filter(|pod| pod.record.lifecycle == Lifecycle::Live);
        live.filter_map(|pod| Some((pod.record.uid.clone(), pod.replica?))).collect()
    }
}
