//! Which container of a pod a rule means, and at which port.

use super::records::{ContainerKind, ContainerRecord, Network, PodRecord};
use crate::api::{Ask, Port};
use crate::engine::TargetProblem;

/// The position of the container among the pod's that a rule means, and the number of the port that it asks, if any.
///
/// The container is the one that the rule names; else the one that declares the named port; else the only one; else
/// the one that the pod's annotation `kubectl.kubernetes.io/default-container` names.
pub(super) fn resolve(pod: &PodRecord, ask: &Ask) -> Result<(usize, Option<u16>), TargetProblem> {
    let at = container(pod, ask.container.as_deref(), ask.handler.port())?;
    match ask.handler.port() {
        Some(asked) => Ok((at, Some(port(&pod.containers[at], pod.network, asked)?))),
        None => Ok((at, None)),
    }
}

/// The position of the container that is meant, by its name or by what it declares, if these are given.
pub(super) fn container(pod: &PodRecord, name: Option<&str>, port: Option<&Port>) -> Result<usize, TargetProblem> {
    if let Some(name) = name {
        return named(pod, name);
    }
    if let Some(Port::Name(port)) = port {
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

/// The number of a port of the pod, whichever of its containers declares it.
pub(super) fn declared(pod: &PodRecord, asked: &Port) -> Result<u16, TargetProblem> {
    let found = pod.containers.iter().map(|container| port(container, pod.network, asked));
    found.reduce(Result::or).unwrap_or(Err(TargetProblem::UnknownPort))
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;
    use std::sync::Arc;

    use super::*;
    use crate::api::{Handler, TcpSocket};
    use crate::cluster::test_support::{PodBuilder, pod};

    fn one() -> PodBuilder {
        pod("a").container("app").port("http", 8080, "TCP").port("dns", 53, "UDP")
    }

    fn two() -> PodBuilder {
        one().container("proxy").port("admin", 9000, "TCP")
    }

    fn ask(container: Option<&str>, port: Port) -> Ask {
        Ask { handler: Handler::Tcp(Arc::new(TcpSocket { port })), container: container.map(str::to_owned) }
    }

    fn number(number: u16) -> Port {
        Port::Number(NonZeroU16::new(number).unwrap())
    }

    fn name(name: &str) -> Port {
        Port::Name(name.to_owned())
    }

    #[test]
    fn a_rule_finds_its_container_and_port_or_says_what_is_missing() {
        const DEFAULT: &str = "kubectl.kubernetes.io/default-container";
        use TargetProblem::{AmbiguousContainer, UndeclaredHostPort, UnknownContainer, UnknownPort};
        for (case, pod, ask, expected) in [
            ("named", two(), ask(Some("proxy"), number(1)), Ok((1, 1))),
            ("named, with a port of another container", two(), ask(Some("proxy"), name("http")), Err(UnknownPort)),
            ("named, but not there", two(), ask(Some("db"), number(1)), Err(UnknownContainer)),
            ("a sidecar by name", one().sidecar("mesh"), ask(Some("mesh"), number(1)), Ok((1, 1))),
            (
                "an init container that ends",
                one().init_container("setup"),
                ask(Some("setup"), number(1)),
                Err(UnknownContainer),
            ),
            ("by the port's name", two(), ask(None, name("admin")), Ok((1, 9000))),
            ("a port's name that nobody declares", two(), ask(None, name("grpc")), Err(UnknownPort)),
            ("a port of another protocol", one(), ask(None, name("dns")), Err(UnknownPort)),
            ("the only one", one(), ask(None, number(1)), Ok((0, 1))),
            ("the only one beside a sidecar", one().sidecar("mesh"), ask(None, number(1)), Ok((0, 1))),
            ("several", two(), ask(None, number(1)), Err(AmbiguousContainer)),
            ("several with a default", two().annotation(DEFAULT, "proxy"), ask(None, number(1)), Ok((1, 1))),
            (
                "a default that is not there",
                two().annotation(DEFAULT, "db"),
                ask(None, number(1)),
                Err(UnknownContainer),
            ),
            ("a name that two declare", two().port("http", 1, "TCP"), ask(None, name("http")), Err(AmbiguousContainer)),
            (
                "a name that two declare, with a default",
                two().port("http", 1, "TCP").annotation(DEFAULT, "proxy"),
                ask(None, name("http")),
                Ok((1, 1)),
            ),
            ("the node's network, declared", one().on_host_network(), ask(None, number(8080)), Ok((0, 8080))),
            ("the node's network, by name", one().on_host_network(), ask(None, name("http")), Ok((0, 8080))),
            ("the node's network, undeclared", one().on_host_network(), ask(None, number(22)), Err(UndeclaredHostPort)),
        ] {
            let expected = expected.map(|(at, number)| (at, Some(number)));
            assert_eq!(resolve(&pod.record(), &ask), expected, "{case}");
        }
    }
}
