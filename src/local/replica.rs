//! One replica as the world holds it, and as it shows it to the engine.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::keeper::{FIRST, Order};
use crate::engine::{
    Container, ContainerState, Gate, GateSeen, Incarnation, Lifecycle, Observation, OwnerKey, PerRule, Place, Policy,
    PolicyKey, Readiness, Remembered, ReplicaKey, RevisionKey, RuleKind, Slot, Target, Time,
};
use crate::scenario::{Opening, Scenario};

/// The one policy.
pub(super) const POLICY: PolicyKey = PolicyKey(0);
/// The one owner of all replicas, who creates them again.
pub(super) const OWNER: OwnerKey = OwnerKey(0);

/// One replica.
pub(super) struct Replica {
    number: u32,
    revision: u32,
    orders: UnboundedSender<Order>,
    /// Where its process listens; of one that is gone, where it listened.
    pub address: SocketAddr,
    /// Which process it is.
    pub incarnation: Incarnation,
    /// When that was opened, in the scenario's time.
    pub opening: Opening,
    /// What it does.
    pub process: Process,
    /// When the replica joins, in the scenario's time, if it has not yet.
    pub joins: Option<Time>,
    /// Its gate, where the policy has gates.
    pub gate: Gate,
}

/// What a replica's process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    /// It listens.
    Runs {
        /// Since when.
        since: Time,
    },
    /// It was told to end.
    Ends,
    /// It is gone, and the next one does not listen yet.
    Gone,
}

impl Replica {
    /// A replica whose first process listens: it is warm and in the pool, or joins later.
    pub fn new(number: usize, address: SocketAddr, scenario: &Scenario, orders: UnboundedSender<Order>) -> Self {
        Self {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            revision: scenario.revision(number),
            orders,
            address,
            incarnation: FIRST,
            opening: Opening::Warm,
            process: Process::Runs { since: Time::ZERO },
            joins: scenario.joins(number),
            gate: Gate::Open,
        }
    }

    /// Whether it has joined.
    pub fn is_there(&self) -> bool {
        self.joins.is_none()
    }

    /// It joins: its process, which has refused everything until now, begins to start. A gate lets nobody in unseen.
    pub fn join(&mut self, now: Time, gate: Gate) {
        if let Some(at) = self.joins.take() {
            self.opening = Opening::Planned(at);
            self.process = Process::Runs { since: now };
            self.gate = gate;
        }
    }

    /// Whether this very process runs.
    pub fn runs(&self, incarnation: Incarnation) -> bool {
        matches!(self.process, Process::Runs { .. }) && self.incarnation == incarnation
    }

    /// Tells its process to end.
    pub fn restart(&mut self, grace: Duration) {
        self.process = Process::Ends;
        // A keeper that is gone has failed, which ends the run.
        let _ = self.orders.send(Order { incarnation: self.incarnation, grace });
    }

    /// Its next process listens.
    pub fn opened(&mut self, address: SocketAddr, now: Time, opening: Opening) {
        self.address = address;
        self.incarnation.0 += 1;
        self.opening = opening;
        self.process = Process::Runs { since: now };
    }

    /// Whether requests go to it, and it has a process.
    pub fn serves(&self) -> bool {
        self.is_in_pool() && matches!(self.process, Process::Runs { .. })
    }

    /// Whether requests go to it. One that was told to end gets none; one that is gone unbidden does until its gate is
    /// closed.
    pub fn is_in_pool(&self) -> bool {
        self.gate == Gate::Open && self.is_there() && self.process != Process::Ends
    }

    /// The replica as it is.
    pub fn observation(&self, policy: &Policy, remembered: Option<Remembered>) -> Observation {
        let state = match self.process {
            Process::Runs { since } => ContainerState::Running { since },
            Process::Ends | Process::Gone => ContainerState::Down,
        };
        let target = Target::Container(Container { incarnation: self.incarnation, state, remembered });
        let mut targets = PerRule::default();
        for kind in RuleKind::ALL {
            targets[kind] = policy.rule(kind).map(|_| target);
        }
        Observation {
            policy: Some(POLICY),
            owner: Some(OWNER),
            place: Place::Fixed(Slot::Ordinal(self.number)),
            node: None,
            revision: Some(RevisionKey(self.revision)),
            lifecycle: Lifecycle::Live,
            paused_until: None,
            ready: if self.is_in_pool() { Readiness::Ready } else { Readiness::NotReady },
            gate: if has_gates(policy) { GateSeen::Set(self.gate) } else { GateSeen::Ungated },
            targets,
            heartbeat: None,
            spread: u64::from(self.number),
            created: Time::ZERO,
        }
    }

    /// Its key in the engine.
    pub fn key(&self) -> ReplicaKey {
        ReplicaKey { index: self.number, generation: 0 }
    }
}

/// The name of a replica, and of its processes.
pub(super) fn name(replica: usize) -> String {
    format!("r{replica}")
}

/// The replica of that name.
pub(super) fn number(name: &str) -> Option<usize> {
    name.strip_prefix('r')?.parse().ok()
}

/// As in the model: without a readiness rule everybody is in the pool all the time.
pub(super) fn has_gates(policy: &Policy) -> bool {
    policy.rules.readiness.is_some()
}
