//! How a rule asks. One file a kind: what a user writes, the checks on it, and what it means.

mod exec;
mod grpc;
mod health;
mod http;
mod tcp;
mod tls;

use std::fmt;
use std::sync::Arc;

use super::checks::Check;
use super::convert::SpecError;
use super::{Port, RuleSpec};

pub use exec::{Exec, ExecSpec};
pub use grpc::{Grpc, GrpcSpec, ServingState};
pub use health::{ComponentScope, HealthBody};
pub use http::{HttpGet, HttpGetSpec, HttpHeaderSpec, Redirects, Scheme};
pub use tcp::{TcpSocket, TcpSocketSpec};
pub use tls::{Tls, TlsSpec};

/// How a rule asks. Cheap to clone: what it says is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler {
    /// An HTTP GET request.
    Http(Arc<HttpGet>),
    /// A TCP connection.
    Tcp(Arc<TcpSocket>),
    /// A question to a gRPC health service.
    Grpc(Arc<Grpc>),
    /// A command in the container.
    Exec(Arc<Exec>),
}

/// The one handler that there is, as it is written.
pub(super) enum HandlerSpec {
    Http(HttpGetSpec),
    Tcp(TcpSocketSpec),
    Grpc(GrpcSpec),
    Exec(ExecSpec),
}

/// Exactly one.
pub(super) const ONE: Check<RuleSpec, HandlerSpec> = Check {
    cel: "[has(self.httpGet), has(self.tcpSocket), has(self.grpc), has(self.exec)].exists_one(written, written)",
    member: "",
    sentence: "must have exactly one handler: httpGet, tcpSocket, grpc or exec",
    parse: |rule| {
        let mut written = [
            rule.http_get.clone().map(HandlerSpec::Http),
            rule.tcp_socket.clone().map(HandlerSpec::Tcp),
            rule.grpc.clone().map(HandlerSpec::Grpc),
            rule.exec.clone().map(HandlerSpec::Exec),
        ]
        .into_iter()
        .flatten();
        written.next().filter(|_| written.next().is_none())
    },
};

impl Handler {
    /// What the handler of the rule at the path `at` means.
    pub(super) fn parse(at: &str, rule: &RuleSpec) -> Result<Self, SpecError> {
        ONE.parse(at, rule)?.parse(at)
    }

    /// The port that is asked; a command needs none.
    pub fn port(&self) -> Option<&Port> {
        match self {
            Self::Http(get) => Some(get.port()),
            Self::Tcp(socket) => Some(&socket.port),
            Self::Grpc(grpc) => Some(grpc.port()),
            Self::Exec(_) => None,
        }
    }
}

impl HandlerSpec {
    /// What it means, of whatever stands at the path `at`.
    pub(super) fn parse(self, at: &str) -> Result<Handler, SpecError> {
        Ok(match self {
            Self::Http(spec) => Handler::Http(Arc::new(HttpGet::parse(&format!("{at}.httpGet"), &spec)?)),
            Self::Grpc(spec) => Handler::Grpc(Arc::new(Grpc::parse(&format!("{at}.grpc"), &spec)?)),
            Self::Exec(spec) => Handler::Exec(Arc::new(Exec::parse(&format!("{at}.exec"), &spec)?)),
            Self::Tcp(spec) => Handler::Tcp(Arc::new(TcpSocket::parse(&format!("{at}.tcpSocket"), &spec)?)),
        })
    }
}

/// One line that differs for every two handlers that differ.
impl fmt::Display for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(get) => get.fmt(f),
            Self::Tcp(socket) => socket.fmt(f),
            Self::Grpc(grpc) => grpc.fmt(f),
            Self::Exec(exec) => exec.fmt(f),
        }
    }
}
