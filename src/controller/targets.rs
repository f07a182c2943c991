//! Where attempts go: the index knows the pods, the prober the sockets.

use std::net::SocketAddr;

use crate::api::{Handler, Sockets};
use crate::cluster::records::ObjectName;
use crate::cluster::{AttemptTarget, Index};
use crate::engine::{AttemptId, DependencyAttempt, Incarnation, PolicyKey};
use crate::probe::{Commands, Loopback, Standing, Target};

/// Where an attempt goes, if the container is still the one it was decided for.
pub(super) fn of(
    index: &Index,
    commands: &Commands,
    attempt: AttemptId,
    policy: PolicyKey,
    incarnation: Incarnation,
) -> Option<Target> {
    index.container_id(attempt.replica, incarnation)?;
    let AttemptTarget { pod, sockets, container, handler } =
        index.attempt_target(attempt.replica, policy, attempt.rule)?;
    match (handler, sockets) {
        (Handler::Exec(exec), _) => {
            let ObjectName { namespace, name } = &pod.name;
            Some(Target::inside(exec, commands.container(namespace, name, container)))
        }
        (_, Some(sockets)) => Target::of(handler, sockets, Loopback::Refused),
        (_, None) => None,
    }
}

/// Who stands for a dependency now. Pods that we cannot ask say nothing about it.
pub(super) fn of_dependency(index: &Index, attempt: DependencyAttempt) -> Standing {
    let Some(found) = index.dependency_targets(attempt.policy, attempt.dependency) else { return Standing::Unknown };
    let target = |socket: &SocketAddr| Target::of(found.handler, Sockets::One(*socket), Loopback::Refused);
    let targets: Vec<_> = found.sockets.iter().filter_map(target).collect();
    if !targets.is_empty() {
        Standing::Asked(targets)
    } else if found.sockets.is_empty() && found.problem.is_none() {
        Standing::Nobody
    } else {
        Standing::Unknown
    }
}
