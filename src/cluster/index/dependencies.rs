//! Who stands for what a policy depends on.

use std::net::SocketAddr;

use super::Index;
use crate::api::{DependencyAsk, Handler};
use crate::cluster::target;
use crate::engine::{DependencyName, Lifecycle, PolicyKey, Readiness, TargetProblem};

/// So many pods of a dependency are asked in one attempt.
const ASKED_AT_ONCE: usize = 16;

/// Who stands for a dependency, and what is asked of them.
#[derive(Debug, PartialEq, Eq)]
pub struct DependencyTargets<'a> {
    /// The live pods that its selector selects.
    pub selected: usize,
    /// Where those of them are asked that are to be: at their first address, at most 16, those that are Ready first.
    pub sockets: Vec<SocketAddr>,
    /// Why another of them cannot be asked.
    pub problem: Option<TargetProblem>,
    /// What.
    pub handler: &'a Handler,
}

impl Index {
    /// Who stands for a dependency of a policy now: live pods of its namespace. `None` if the policy in force lists no such
    /// dependency.
    pub fn dependency_targets(&self, policy: PolicyKey, name: DependencyName) -> Option<DependencyTargets<'_>> {
        let asks = &self.policies.in_force(policy)?.canaries;
        let DependencyAsk { selector, handler, .. } = asks.iter().find(|ask| ask.name == name)?;
        let asked = handler.port()?;
        let namespace = &self.policies.get(policy)?.name.namespace;
        let live = self.pods_in(namespace).map(|(_, pod)| pod).filter(|pod| pod.lifecycle == Lifecycle::Live);
        let (mut selected, mut problem, mut found) = (0, None, Vec::new());
        for pod in live.filter(|pod| selector.matches(&pod.labels)) {
            selected += 1;
            match target::declared(pod, asked) {
                Ok(port) => found.extend(pod.addresses.first().map(|ip| (pod.ready, SocketAddr::new(*ip, port)))),
                Err(missing) => problem = Some(missing),
            }
        }
        found.sort_by_key(|(ready, _)| *ready != Readiness::Ready);
        let sockets = found.into_iter().map(|(_, socket)| socket).take(ASKED_AT_ONCE).collect();
        Some(DependencyTargets { selected, sockets, problem, handler })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::test_support::{OLDEST, World, policy, web};

    #[test]
    fn a_dependency_is_asked_of_its_pods_in_the_policys_namespace_those_that_are_ready_first() {
        let name = DependencyName::new("store").unwrap();
        let dependencies = |port: serde_json::Value| {
            let selector = json!({"matchLabels": {"role": "store"}});
            let store = json!({"name": "store", "selector": selector, "tcpSocket": {"port": port}});
            policy("p", "00:00:00").spec("fleet", json!({"dependencies": [store]})).record()
        };
        let mut world = World::new();
        world.policy(dependencies(json!("http")));
        let found = world.index.dependency_targets(OLDEST, name).unwrap();
        assert_eq!((found.selected, found.sockets.len(), found.problem), (0, 0, None));
        let store = |pod: &str| web(pod).label("app", "other").label("role", "store");
        world.pod(store("b"));
        world.pod(store("c").addresses(&["10.0.0.8"]).condition("Ready", "True"));
        world.pod(store("ended").deleted());
        world.pod(store("elsewhere").namespace("other"));
        world.pod(web("of-the-policy"));
        let found = world.index.dependency_targets(OLDEST, name).unwrap();
        let asked: Vec<_> = found.sockets.iter().map(SocketAddr::to_string).collect();
        assert_eq!((found.selected, asked), (2, vec!["10.0.0.8:8080".to_owned(), "10.0.0.7:8080".to_owned()]));
        world.policy(dependencies(json!("postgres")));
        let found = world.index.dependency_targets(OLDEST, name).unwrap();
        assert_eq!((found.sockets.len(), found.problem), (0, Some(TargetProblem::UnknownPort)));
    }
}
