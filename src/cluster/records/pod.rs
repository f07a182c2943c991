use std::net::IpAddr;

use k8s_openapi::api::core::v1 as core;

use super::{ObjectName, OwnerRef, ResourceVersion, Uid};
use crate::api::{GATE, Labels, PauseNote, SpecError, VERDICT, VerdictAnnotation};
use crate::engine::{ContainerState, Gate, GateSeen, Lifecycle, Readiness, Time};
use crate::runtime::time;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRecord {
    /// Where it is found.
    pub name: ObjectName,
    /// Which one.
    pub uid: Uid,
    /// The version this was read from.
    pub resource_version: ResourceVersion,
    /// Its labels.
    pub labels: Labels,
    /// Its controller.
    pub owner: Option<OwnerRef>,
    /// Its node; `None` before it is scheduled.
    pub node: Option<Box<str>>,
    /// When it was created.
    pub created: Time,
    /// Terminating once it is being deleted, and also once it has succeeded or failed: it will never run again.
    pub lifecycle: Lifecycle,
    /// Its `Ready` condition.
    pub ready: Readiness,
    /// Its gate: declared in its spec, and as its condition stands.
    pub gate: GateSeen,
    /// Since when its condition stands so.
    pub gate_since: Option<Time>,
    /// Its addresses, at most one of a family; none before it has one.
    pub addresses: Box<[IpAddr]>,
    /// Whose network it uses.
    pub network: Network,
    /// Those containers that a rule may mean, in the spec's order: no init container that ends, no ephemeral one.
    pub containers: Box<[ContainerRecord]>,
    /// The container that the annotation `kubectl.kubernetes.io/default-container` names.
    pub default_container: Option<Box<str>>,
    /// The verdict that an earlier engine left on it.
    pub verdict: Option<Box<VerdictAnnotation>>,
    /// The pause that its annotations ask for, or why that makes no sense.
    pub pause: Option<Box<Result<PauseNote, SpecError>>>,
}

/// A container that a rule may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRecord {
    /// Its name.
    pub name: Box<str>,
    /// Where the spec lists it.
    pub kind: ContainerKind,
    /// The ID of the latest container in this place.
    pub id: Option<Box<str>>,
    /// What it does.
    pub state: ContainerState,
    /// The TCP ports it declares, some by name.
    pub ports: Box<[(Option<Box<str>>, u16)]>,
}

/// Where a pod's spec lists a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// Among its containers.
    App,
    /// Among its init containers, as one that keeps running (`restartPolicy: Always`).
    Sidecar,
}

/// Whose network a pod uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Its own.
    Pod,
    /// Its node's.
    Host,
}

const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
impl From<core::Pod> for PodRecord {
    fn from(pod: core::Pod) -> Self {
        let mut meta = pod.metadata;
        let spec = pod.spec.unwrap_or_default();
        let status = pod.status.unwrap_or_default();
        let annotation = |name| meta.annotations.as_ref().and_then(|annotations| annotations.get(name));
        Self {
            name: ObjectName::of(&meta),
            uid: Uid::of(&meta),
            resource_version: ResourceVersion::of(&meta),
            default_container: annotation(DEFAULT_CONTAINER).map(|name| name.as_str().into()),
            verdict: annotation(VERDICT).and_then(|text| VerdictAnnotation::parse(text).ok()).map(Box::new),
            pause: PauseNote::of(&meta).transpose().map(Box::new),
            created: meta.creation_timestamp.as_ref().map_or(Time::ZERO, |created| time(created.0)),
            lifecycle: match status.phase.as_deref() {
                Some("Succeeded" | "Failed") => Lifecycle::Terminating,
                _ if meta.deletion_timestamp.is_some() => Lifecycle::Terminating,
                _ => Lifecycle::Live,
            },
            ready: match condition(&status, "Ready").map(|ready| ready.status.as_str()) {
                Some("True") => Readiness::Ready,
                _ => Readiness::NotReady,
            },
            gate: gate(&spec, &status),
            gate_since: condition(&status, GATE).and_then(|gate| Some(time(gate.last_transition_time.as_ref()?.0))),
            addresses: addresses(&status),
            network: if spec.host_network == Some(true) { Network::Host } else { Network::Pod },
            containers: containers(&spec, &status),
            owner: OwnerRef::of(&mut meta),
            labels: meta.labels.unwrap_or_default().into(),
            node: spec.node_name.map(Into::into),
        }
    }
}

/// The labels by which an owner tells the templates apart that it makes pods from: a ReplicaSet of a Deployment, and a
/// StatefulSet or DaemonSet.
const REVISIONS: [&str; 2] = ["pod-template-hash", "controller-revision-hash"];

impl PodRecord {
    /// The revision that it was made from, if its owner tells.
    pub fn revision(&self) -> Option<&str> {
        REVISIONS.into_iter().find_map(|label| self.labels.get(label))
    }

    /// Until when it is paused; `None`, or a time that is over: it is not.
    pub fn paused_until(&self) -> Option<Time> {
        Some(time(self.pause.as_deref()?.as_ref().ok()?.until))
    }
}

fn gate(spec: &core::PodSpec, status: &core::PodStatus) -> GateSeen {
    if !spec.readiness_gates.iter().flatten().any(|gate| gate.condition_type == GATE) {
        return GateSeen::Ungated;
    }
    match condition(status, GATE).map(|gate| gate.status.as_str()) {
        None => GateSeen::Unset,
        Some("True") => GateSeen::Set(Gate::Open),
        Some(_) => GateSeen::Set(Gate::Closed),
    }
}

fn condition<'a>(status: &'a core::PodStatus, type_: &str) -> Option<&'a core::PodCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == type_)
}

fn addresses(status: &core::PodStatus) -> Box<[IpAddr]> {
    let all = status.pod_ips.as_deref().unwrap_or_default().iter().map(|address| address.ip.as_str());
    let only = status.pod_ip.as_deref().filter(|_| all.len() == 0);
    all.chain(only).filter_map(|address| address.parse().ok()).collect()
}

fn containers(spec: &core::PodSpec, status: &core::PodStatus) -> Box<[ContainerRecord]> {
    let apps = spec.containers.iter();
    let apps = apps.map(|spec| container(spec, ContainerKind::App, status.container_statuses.as_deref()));
    let sidecars =
        spec.init_containers.iter().flatten().filter(|init| init.restart_policy.as_deref() == Some("Always"));
    let statuses = status.init_container_statuses.as_deref();
    apps.chain(sidecars.map(|spec| container(spec, ContainerKind::Sidecar, statuses))).collect()
}

fn container(
    spec: &core::Container,
    kind: ContainerKind,
    statuses: Option<&[core::ContainerStatus]>,
) -> ContainerRecord {
    let status = statuses.into_iter().flatten().find(|status| status.name == spec.name);
    let id = status.and_then(|status| status.container_id.as_deref()).filter(|id| !id.is_empty());
    ContainerRecord {
        name: spec.name.as_str().into(),
        kind,
        id: id.map(Into::into),
        state: status.and_then(|status| status.state.as_ref()).map_or(ContainerState::Down, container_state),
        ports: spec.ports.iter().flatten().filter_map(tcp_port).collect(),
    }
}

fn container_state(state: &core::ContainerState) -> ContainerState {
    if let Some(running) = &state.running {
        let since = running.started_at.as_ref().map_or(Time::ZERO, |started| time(started.0));
        return ContainerState::Running { since };
    }
    match state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref()) {
        Some("CrashLoopBackOff") => ContainerState::BackingOff,
        _ => ContainerState::Down,
    }
}

fn tcp_port(port: &core::ContainerPort) -> Option<(Option<Box<str>>, u16)> {
    if port.protocol.as_deref().is_some_and(|protocol| protocol != "TCP") {
        return None;
    }
    Some((port.name.as_deref().map(Into::into), u16::try_from(port.container_port).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::test_support::pod;

    #[test]
    fn a_pod_that_ends_or_has_ended_is_terminating() {
        for (pod, lifecycle) in [
            (pod("a"), Lifecycle::Live),
            (pod("a").deleted(), Lifecycle::Terminating),
            (pod("a").phase("Failed"), Lifecycle::Terminating),
            (pod("a").phase("Succeeded"), Lifecycle::Terminating),
        ] {
            assert_eq!(pod.record().lifecycle, lifecycle);
        }
    }

    #[test]
    fn the_gate_is_what_the_spec_declares_and_the_condition_says() {
        for (pod, gate) in [
            (pod("a").condition(GATE, "True"), GateSeen::Ungated),
            (pod("a").gated(), GateSeen::Unset),
            (pod("a").gated().condition(GATE, "True"), GateSeen::Set(Gate::Open)),
            (pod("a").gated().condition(GATE, "False"), GateSeen::Set(Gate::Closed)),
            (pod("a").gated().condition(GATE, "Unknown"), GateSeen::Set(Gate::Closed)),
        ] {
            assert_eq!(pod.record().gate, gate);
        }
    }

    #[test]
    fn a_container_runs_is_down_or_backs_off() {
        let since = time("2026-01-01T00:00:01Z".parse().unwrap());
        let app = || pod("a").container("app");
        for (pod, state) in [
            (app(), ContainerState::Down),
            (app().running("c1"), ContainerState::Running { since }),
            (app().terminated("c1"), ContainerState::Down),
            (app().waiting(None, "ContainerCreating"), ContainerState::Down),
            (app().waiting(Some("c1"), "CrashLoopBackOff"), ContainerState::BackingOff),
        ] {
            assert_eq!(pod.record().containers[0].state, state);
        }
    }
}
