//! How a rule asks. One file a kind: what a user writes, the checks on it, and what it means.

mod http;
mod tcp;
mod tls;

use std::fmt;
use std::sync::Arc;

use super::checks::Check;
use super::convert::SpecError;
use super::{Port, RuleSpec};

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
}

/// The one handler that a rule has, as it is written.
pub(super) enum HandlerSpec {
    Http(HttpGetSpec),
    Tcp(TcpSocketSpec),
}

/// Exactly one.
pub(super) const ONE: Check<RuleSpec, HandlerSpec> = Check {
    cel: "has(self.httpGet) != has(self.tcpSocket)",
    member: "",
    sentence: "must have exactly one handler: httpGet or tcpSocket",
    parse: |rule| match (&rule.http_get, &rule.tcp_socket) {
        (Some(http), None) => Some(HandlerSpec::Http(http.clone())),
        (None, Some(tcp)) => Some(HandlerSpec::Tcp(tcp.clone())),
        (Some(_), Some(_)) | (None, None) => None,
    },
};

impl Handler {
    /// What the handler of the rule at the path `at` means.
    pub(super) fn parse(at: &str, rule: &RuleSpec) -> Result<Self, SpecError> {
        Ok(match ONE.parse(at, rule)? {
            HandlerSpec::Http(spec) => Self::Http(Arc::new(HttpGet::parse(&format!("{at}.httpGet"), &spec)?)),
            HandlerSpec::Tcp(spec) => Self::Tcp(Arc::new(TcpSocket::parse(&format!("{at}.tcpSocket"), &spec)?)),
        })
    }

    /// The port that is asked.
    pub fn port(&self) -> &Port {
        match self {
            Self::Http(get) => get.port(),
            Self::Tcp(socket) => &socket.port,
        }
    }
}

/// One line that differs for every two handlers that differ.
impl fmt::Display for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(get) => get.fmt(f),
            Self::Tcp(socket) => socket.fmt(f),
        }
    }
}
