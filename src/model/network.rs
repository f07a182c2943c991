//! What lies between the decisions and the requests: a list of addresses, and the time that a decision takes.

use super::addresses::Addresses;
use super::beats::Heartbeat;
use super::observer::{Member, Standing};
use super::propagation::{self, Forwarder, Pool, Profile};
use crate::engine::Time;
use crate::registry::Resolve;
use crate::scenario::{Condition, Propagation, Scenario};

/// A network in which a decision, or a replica that comes or goes, is not known at once.
pub(super) struct Network {
    /// The registry's list, if requests go by one.
    addresses: Option<Addresses>,
    /// What forwards the traffic to each replica; nobody if decisions reach it at once.
    forwarders: Vec<Forwarder>,
}

impl Network {
    /// The scenario's; `None` if everything is known at once.
    pub(super) fn of(scenario: &Scenario) -> Option<Self> {
        let resolves = scenario.resolve() != Resolve::Static;
        let addresses = resolves.then(|| Addresses::new(scenario, Heartbeat::of(scenario)));
        let forwarders = scenario.propagation().map_or_else(Vec::new, |propagation| forwarders(scenario, propagation));
        (addresses.is_some() || !forwarders.is_empty()).then_some(Self { addresses, forwarders })
    }

    /// What is read before a turn's decisions.
    pub(super) fn read_before(&mut self, now: Time, members: &[Member]) {
        self.read(members, |read| read < now);
    }

    /// A turn's beats and reads, after its decisions.
    pub(super) fn pass(&mut self, now: Time, members: &[Member]) {
        self.read(members, |read| read <= now);
        if let Some(addresses) = &mut self.addresses {
            addresses.hear(now, members.len(), |replica| members[replica].condition);
        }
    }

    /// Those to whom requests go at `now`, in the order in which they are listed.
    pub(super) fn pool(&mut self, now: Time, members: &[Member], pool: &mut Vec<Condition>) {
        let forwarders = &self.forwarders;
        let reached = |replica| reached(replica, forwarders, members);
        pool.clear();
        if let Some(addresses) = &mut self.addresses {
            addresses.resolve(now);
            pool.extend(addresses.list().iter().copied().filter_map(reached));
        } else {
            pool.extend((0..members.len()).filter_map(reached));
        }
    }

    fn read(&mut self, members: &[Member], is_over: impl Fn(Time) -> bool) {
        for (forwarder, member) in self.forwarders.iter_mut().zip(members) {
            while forwarder.next_read().is_some_and(&is_over) {
                forwarder.read(match member.standing {
                    Standing::In => propagation::Standing::Passing,
                    Standing::Out | Standing::Absent => propagation::Standing::Failing,
                });
            }
        }
    }
}

/// A forwarder for each replica. One that joins is not known before its first result is read, if any ever is.
fn forwarders(scenario: &Scenario, propagation: Propagation) -> Vec<Forwarder> {
    let profile = Profile::from(propagation);
    let forwarder = |replica| {
        let is_known = profile == Profile::Never || scenario.joins(replica).is_none();
        Forwarder::new(profile, Time::ZERO, if is_known { Pool::In } else { Pool::Out })
    };
    (0..scenario.replicas()).map(forwarder).collect()
}

/// What is true of a replica, if requests to its address reach it.
fn reached(replica: usize, forwarders: &[Forwarder], members: &[Member]) -> Option<Condition> {
    let Member { condition, standing } = members[replica];
    let is_in = match (standing, forwarders.get(replica)) {
        (Standing::Absent, _) => false,
        (Standing::In | Standing::Out, Some(forwarder)) => forwarder.pool() == Pool::In,
        (Standing::In | Standing::Out, None) => standing == Standing::In,
    };
    is_in.then_some(condition)
}

impl From<Propagation> for Profile {
    fn from(propagation: Propagation) -> Self {
        match propagation {
            Propagation::L7 => Self::L7,
            Propagation::L4 => Self::L4,
            Propagation::None => Self::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{ParsedPolicy, ProbePolicySpec};
    use crate::engine::Phase;
    use crate::model;
    use crate::scenario::ScenarioFile;

    const TURNS: u32 = 80;

    /// Three replicas, three requests in a turn of half a second.
    fn errors(network: &str, rules: serde_json::Value) -> Vec<u32> {
        let text =
            format!("turn: 500ms\nturns: {TURNS}\nrequestsPerTurn: 3\nreplicas: {{count: 3, startup: 0}}\n{network}");
        let scenario = ScenarioFile::parse("s.yaml", &text).unwrap();
        let run = model::run(&scenario, &policy(rules)).unwrap();
        (0..TURNS).filter(|turn| run.errors[*turn as usize] > 0).collect()
    }

    fn policy(rules: serde_json::Value) -> ParsedPolicy {
        let mut spec = serde_json::json!({"selector": {"matchLabels": {"app": "fake"}}, "mode": "Enforce"});
        spec.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        let spec: ProbePolicySpec = serde_json::from_value(spec).unwrap();
        spec.parse(1, Phase::Spread).unwrap()
    }

    fn ready_every_turn() -> serde_json::Value {
        serde_json::json!({
            "readiness": {"httpGet": {"port": 8080, "path": "/ready"}, "period": "500ms", "failureThreshold": 1},
        })
    }

    #[test]
    fn a_decision_reaches_the_requests_when_the_profile_says_so() {
        let fault = "faults: [{replica: 1, at: 11, dependencyLost: {for: 40}}]\n";
        let errors = |profile: &str| errors(&format!("{fault}{profile}"), ready_every_turn());
        assert!(errors("").is_empty());
        assert_eq!(errors("propagation: L7"), Vec::from_iter(11..15));
        assert_eq!(errors("propagation: L4"), Vec::from_iter(11..28));
        assert_eq!(errors("propagation: None"), Vec::from_iter(11..51));
    }

    #[test]
    fn requests_go_by_the_list_of_the_registry_and_the_pool_whichever_knows_first() {
        let network = "faults: [{replica: 1, at: 11, stopped: {}}]\nregistry: {beat: 2, timeToLive: 6}\n";
        let errors = |resolve: &str, rules| errors(&format!("{network}{resolve}"), rules);
        assert_eq!(errors("resolve: registry", serde_json::json!({})), Vec::from_iter(11..16));
        assert_eq!(errors("resolve: registry,cache=4", serde_json::json!({})), Vec::from_iter(11..16));
        assert_eq!(errors("resolve: static", serde_json::json!({})), Vec::from_iter(11..TURNS));
        assert!(errors("resolve: registry", ready_every_turn()).is_empty());
    }
}
