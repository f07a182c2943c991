//! Which container of a pod a rule means, and at which port.

use super::records::{ContainerKind, ContainerRecord, Network, PodRecord};
use crate::api::{Ask, Handler, Port};
use crate::engine::TargetProblem;

/// The position of the container among the pod's that a rule means, and the number of the port that it asks.
///
/// The container is the one that the rule names; else the one that declares the named port; else the only one; else
/// the one that the pod's annotation `kubectl.kubernetes.io/default-container` names.
pub(super) fn resolve(pod: &PodRecord, ask: &Ask) -> Result<(usize, u16), TargetProblem> {
    let at = container(pod, ask)?;
    let number = port(&pod.containers[at], pod.network, asked_port(ask))?;
    Ok((at, number))
}

fn container(pod: &PodRecord, ask: &Ask) -> Result<usize, TargetProblem> {
    if let Some(name) = &ask.container {
        return named(pod, name);
    }
    if let Port::Name(port) = asked_port(ask) {
        let mut declaring = positions(pod, |container| declares(container, port));
        match (declaring.next(), declaring.next()) {
            (None, _) => return Err(TargetProblem::UnknownPort),
            (Some(one), None) => return Ok(one),
            (Some(_), Some(_)) => {}
        }
    }
    let mut apps = positions(pod, |container| container.kind == ContainerKind::App);
    match (apps.next(), apps.next(), &pod.default_container) {
        (Some(only), None, _) => Ok(only),
        (_, _, Some(name)) => named(pod, name),
        (_, _, None) => Err(TargetProblem::AmbiguousContainer),
    }
}

fn asked_port(ask: &Ask) -> &Port {
    match &ask.handler {
        Handler::Http { port, .. } | Handler::Tcp { port } => port,
    }
}

fn named(pod: &PodRecord, name: &str) -> Result<usize, TargetProblem> {
    positions(pod, |container| &*container.name == name).next().ok_or(TargetProblem::UnknownContainer)
}

fn positions(pod: &PodRecord, wanted: impl Fn(&ContainerRecord) -> bool) -> impl Iterator<Item = usize> {
    pod.containers.iter().enumerate().filter(move |(_, container)| wanted(container)).map(|(at, _)| at)
}

fn declares(container: &ContainerRecord, port: &str) -> bool {
    container.ports.iter().any(|(name, _)| name.as_deref() == Some(port))
}

/// A pod on its node's network is asked only at a port it declares: any other may belong to somebody else.
fn port(container: &ContainerRecord, network: Network, port: &Port) -> Result<u16, TargetProblem> {
    match (port, network) {
        (Port::Name(wanted), Network::Pod | Network::Host) => {
            let declared = container.ports.iter().find(|(name, _)| name.as_deref() == Some(wanted));
            declared.map(|&(_, number)| number).ok_or(TargetProblem::UnknownPort)
        }
        (Port::Number(number), Network::Pod) => Ok(number.get()),
        (Port::Number(number), Network::Host) => {
            let declared = container.ports.iter().any(|&(_, declared)| declared == number.get());
            if declared { Ok(number.get()) } else { Err(TargetProblem::UndeclaredHostPort) }
        }
    }
}
