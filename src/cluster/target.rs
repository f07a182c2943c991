//! Which container of a pod a rule means, and at which port and addresses.

use std::net::SocketAddr;

use super::records::{ContainerKind, ContainerRecord, Network, PodRecord};
use crate::api::{Ask, IpFamily, Port, Sockets};
use crate::engine::TargetProblem;

/// Where in a pod a rule asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The position of the container among the pod's.
    pub(super) container: usize,
    /// The addresses with the port; a command needs none, and a pod that is new has no address yet.
    pub(super) sockets: Option<Sockets>,
}

/// Where a rule asks.
///
/// The container is the one that the rule names; else the one that declares the named port; else the only one; else
/// the one that the pod's annotation `kubectl.kubernetes.io/default-container` names.
pub(super) fn resolve(pod: &PodRecord, ask: &Ask) -> Result<Place, TargetProblem> {
    let at = container(pod, ask.container.as_deref(), ask.handler.port())?;
    let sockets = match ask.handler.port() {
        Some(asked) => sockets(pod, ask.family, port(&pod.containers[at], pod.network, asked)?)?,
        None => None,
    };
    Ok(Place { container: at, sockets })
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

fn sockets(pod: &PodRecord, family: IpFamily, port: u16) -> Result<Option<Sockets>, TargetProblem> {
    let mut all = pod.addresses.iter().map(|ip| SocketAddr::new(*ip, port));
    let Some(first) = all.next() else { return Ok(None) };
    let second = all.find(|other| other.is_ipv4() != first.is_ipv4());
    let one = |is_meant: fn(&SocketAddr) -> bool| [Some(first), second].into_iter().flatten().find(is_meant);
    let meant = match (family, second) {
        (IpFamily::First, _) | (IpFamily::Either, None) => Some(Sockets::One(first)),
        (IpFamily::IPv4, _) => one(SocketAddr::is_ipv4).map(Sockets::One),
        (IpFamily::IPv6, _) => one(SocketAddr::is_ipv6).map(Sockets::One),
        (IpFamily::Either, Some(second)) => Some(Sockets::Either(first, second)),
        (IpFamily::Both, second) => second.map(|second| Sockets::Both(first, second)),
    };
    meant.map(Some).ok_or(TargetProblem::UnknownAddress)
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
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use std::num::NonZeroU16;
    use std::sync::Arc;

    use super::*;
    use crate::api::{Handler, TcpSocket};
    use crate::cluster::test_support::{PodBuilder, pod};

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
    const V6: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 7)), 80);

    fn one() -> PodBuilder {
        pod("a").container("app").port("http", 8080, "TCP").port("dns", 53, "UDP")
    }

    fn two() -> PodBuilder {
        one().container("proxy").port("admin", 9000, "TCP")
    }

    fn ask(container: Option<&str>, port: Port) -> Ask {
        Ask {
            handler: Handler::Tcp(Arc::new(TcpSocket { port })),
            container: container.map(str::to_owned),
            family: IpFamily::First,
        }
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
            let first = |port| Some(Sockets::One(SocketAddr::new(V4, port)));
            let expected = expected.map(|(container, number)| Place { container, sockets: first(number) });
            assert_eq!(resolve(&pod.record(), &ask), expected, "{case}");
        }
    }

    #[test]
    fn a_rule_asks_at_the_addresses_of_its_family_and_not_at_all_where_they_are_missing() {
        use IpFamily::{First, IPv4, IPv6};
        use Sockets::{Both, Either, One};
        let v4 = SocketAddr::new(V4, 80);
        let unknown = Err(TargetProblem::UnknownAddress);
        for (family, dual, v4_only, none) in [
            (First, Ok(Some(One(v4))), Ok(Some(One(v4))), Ok(None)),
            (IPv4, Ok(Some(One(v4))), Ok(Some(One(v4))), Ok(None)),
            (IPv6, Ok(Some(One(V6))), unknown, Ok(None)),
            (IpFamily::Either, Ok(Some(Either(v4, V6))), Ok(Some(One(v4))), Ok(None)),
            (IpFamily::Both, Ok(Some(Both(v4, V6))), unknown, Ok(None)),
        ] {
            let found = |addresses: &[&str]| super::sockets(&one().addresses(addresses).record(), family, 80);
            assert_eq!(found(&["10.0.0.7", "fd00::7"]), dual, "{family}");
            assert_eq!(found(&["10.0.0.7"]), v4_only, "{family}");
            assert_eq!(found(&[]), none, "{family}");
        }
    }
}
