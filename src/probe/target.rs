//! Where an attempt goes, and where none may ever go.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::{fmt, io};

use super::{Container, Kind, Stage};
use crate::api::{Exec, Grpc, Handler, HttpGet, Sockets, TcpSocket};
use crate::engine::OutcomeClass;

/// What to ask and where. That it exists proves that the addresses may be contacted.
#[derive(Clone, Debug)]
pub struct Target(Question);

#[derive(Clone, Debug)]
enum Question {
    Http(Arc<HttpGet>, Sockets),
    Tcp(Arc<TcpSocket>, Sockets),
    Grpc(Arc<Grpc>, Sockets),
    Exec(Arc<Exec>, Container),
}

/// Whether this machine itself may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loopback {
    /// The replicas are processes of this machine.
    Allowed,
    /// They are not, so a loopback address is somebody's attempt to reach us.
    Refused,
}

/// Why a handler cannot be asked at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedTarget {
    /// No attempt may go there.
    #[error("{address} is never contacted: it is {kind}; check the address in the pod's status")]
    Address {
        /// The address.
        address: SocketAddr,
        /// What it is.
        kind: &'static str,
    },
    /// A command is run in a container.
    #[error("a command is not asked at an address, but run in a container")]
    Command,
}

impl Target {
    /// What a rule's handler asks at these addresses, or why one of them is never contacted: link-local, a cloud's
    /// metadata service, unspecified, multicast, broadcast, port 0, or loopback where that is refused. An IPv4 address
    /// written as IPv6 is judged, and later contacted, as IPv4.
    pub fn new(handler: &Handler, sockets: impl Into<Sockets>, loopback: Loopback) -> Result<Self, RefusedTarget> {
        let sockets = sockets.into().check(|address| {
            let address = SocketAddr::new(address.ip().to_canonical(), address.port());
            match refused_kind(address, loopback) {
                Some(kind) => Err(RefusedTarget::Address { address, kind }),
                None => Ok(address),
            }
        })?;
        match handler {
            Handler::Http(get) => Ok(Self(Question::Http(Arc::clone(get), sockets))),
            Handler::Tcp(socket) => Ok(Self(Question::Tcp(Arc::clone(socket), sockets))),
            Handler::Grpc(grpc) => Ok(Self(Question::Grpc(Arc::clone(grpc), sockets))),
            Handler::Exec(_) => Err(RefusedTarget::Command),
        }
    }

    /// The same as [`Self::new`], with a line in the log if it cannot be asked.
    pub fn of(handler: &Handler, sockets: impl Into<Sockets>, loopback: Loopback) -> Option<Self> {
        let target = Self::new(handler, sockets, loopback);
        target.inspect_err(|error| tracing::debug!(%error, "an attempt cannot be made")).ok()
    }

    /// A command, in that container.
    pub fn inside(exec: &Arc<Exec>, container: Container) -> Self {
        Self(Question::Exec(Arc::clone(exec), container))
    }

    /// Asks, and tells by `stage` how far it has come.
    pub(super) async fn ask(&self, stage: &mut Stage) -> io::Result<OutcomeClass> {
        match &self.0 {
            Question::Http(get, sockets) => sockets.ask(&**get, stage).await,
            Question::Tcp(socket, sockets) => sockets.ask(&**socket, stage).await,
            // Kept apart, since they are large and many attempts are in flight that are not.
            Question::Grpc(grpc, sockets) => Box::pin(sockets.ask(&**grpc, stage)).await,
            Question::Exec(exec, container) => Box::pin(exec.ask(container, stage)).await,
        }
    }
}

impl Sockets {
    fn check<E>(self, check: impl Fn(SocketAddr) -> Result<SocketAddr, E>) -> Result<Self, E> {
        Ok(match self {
            Self::One(only) => Self::One(check(only)?),
            Self::Either(first, second) => Self::Either(check(first)?, check(second)?),
            Self::Both(first, second) => Self::Both(check(first)?, check(second)?),
        })
    }

    async fn ask<K: Kind<Place = SocketAddr>>(&self, kind: &K, stage: &mut Stage) -> io::Result<OutcomeClass> {
        match self {
            Self::One(only) => kind.ask(only, stage).await,
            // Kept apart, since few attempts need twice the room.
            Self::Either(first, second) => Box::pin(either(kind, first, second, stage)).await,
            Self::Both(first, second) => Box::pin(both(kind, first, second, stage)).await,
        }
    }
}

async fn either<K: Kind>(kind: &K, first: &K::Place, second: &K::Place, stage: &mut Stage) -> io::Result<OutcomeClass> {
    let mut stage_of_second = Stage::Connecting;
    let mut asking_first = pin!(kind.ask(first, stage));
    let mut asking_second = pin!(kind.ask(second, &mut stage_of_second));
    let passed = |outcome: &io::Result<OutcomeClass>| matches!(outcome, Ok(OutcomeClass::Passed));
    tokio::select! {
        outcome = &mut asking_first => {
            if passed(&outcome) || !passed(&asking_second.await) { outcome } else { Ok(OutcomeClass::Passed) }
        }
        outcome = &mut asking_second => if passed(&outcome) { outcome } else { asking_first.await },
    }
}

async fn both<K: Kind>(kind: &K, first: &K::Place, second: &K::Place, stage: &mut Stage) -> io::Result<OutcomeClass> {
    let outcome = kind.ask(first, stage).await?;
    if outcome != OutcomeClass::Passed {
        return Ok(outcome);
    }
    *stage = Stage::Connecting;
    kind.ask(second, stage).await
}

/// Where it goes.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Question::Http(_, sockets) | Question::Tcp(_, sockets) | Question::Grpc(_, sockets) => sockets.fmt(f),
            Question::Exec(_, container) => container.fmt(f),
        }
    }
}

/// Metadata services outside the link-local range, at addresses that no pod can have. Alibaba's 100.100.100.200
/// is not among them: on any other network it is an ordinary pod address.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

fn refused_kind(address: SocketAddr, loopback: Loopback) -> Option<&'static str> {
    let ip = address.ip();
    let (link_local, this_network, broadcast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[0] == 0, v4.is_broadcast()),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.is_unspecified(), false),
    };
    if address.port() == 0 {
        Some("without a port")
    } else if link_local {
        Some("a link-local address, where metadata services are")
    } else if METADATA.contains(&ip) {
        Some("a metadata service")
    } else if this_network {
        Some("an unspecified address")
    } else if ip.is_multicast() {
        Some("a multicast address")
    } else if broadcast {
        Some("the broadcast address")
    } else if ip.is_loopback() && loopback == Loopback::Refused {
        Some("a loopback address")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::test_support::handler;

    fn target(address: &str, loopback: Loopback) -> Result<Target, RefusedTarget> {
        Target::new(&handler(json!({"tcpSocket": {"port": 80}})), address.parse::<SocketAddr>().unwrap(), loopback)
    }

    #[test]
    fn addresses_that_no_replica_can_have_are_never_contacted() {
        for address in [
            "169.254.169.254:80",
            "169.254.0.1:80",
            "[::ffff:169.254.169.254]:80",
            "[fe80::1]:80",
            "168.63.129.16:80",
            "[fd00:ec2::254]:80",
            "[fd20:ce::254]:80",
            "0.0.0.0:80",
            "0.1.2.3:80",
            "[::]:80",
            "[::ffff:0.0.0.0]:80",
            "224.0.0.1:80",
            "[ff02::1]:80",
            "255.255.255.255:80",
            "10.0.0.1:0",
        ] {
            assert!(target(address, Loopback::Allowed).is_err(), "{address}");
        }
    }

    #[test]
    fn loopback_is_contacted_only_where_the_replicas_are_local() {
        for address in ["127.0.0.1:80", "127.8.8.8:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert!(target(address, Loopback::Refused).is_err(), "{address}");
            assert!(target(address, Loopback::Allowed).is_ok(), "{address}");
        }
    }

    #[test]
    fn pod_addresses_are_contacted() {
        for address in [
            "10.0.0.1:80",
            "192.168.1.255:1",
            "100.100.100.200:80",
            "240.1.2.3:65535",
            "[fd00::1]:80",
            "[2001:db8::1]:80",
        ] {
            assert!(target(address, Loopback::Refused).is_ok(), "{address}");
        }
    }

    #[test]
    fn a_refusal_says_what_the_address_is_and_what_to_check() {
        assert_eq!(
            target("[::ffff:127.0.0.1]:80", Loopback::Refused).unwrap_err().to_string(),
            "127.0.0.1:80 is never contacted: it is a loopback address; check the address in the pod's status"
        );
    }
}
