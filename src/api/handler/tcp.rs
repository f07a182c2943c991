//! The TCP kind: whether a connection is accepted.

use std::fmt;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::api::convert::SpecError;
use crate::api::{Port, checks};

/// A TCP connection, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TcpSocketSpec {
    /// The pod's port: a number from 1 to 65535, or the name of a port that the container declares.
    #[schemars(extend("maxLength" = 64))]
    #[x_kube(validation = checks::PORT.rule())]
    pub port: IntOrString,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSocket {
    /// Where.
    pub port: Port,
}

impl TcpSocket {
    pub(super) fn parse(at: &str, spec: &TcpSocketSpec) -> Result<Self, SpecError> {
        Ok(Self { port: checks::PORT.parse(format_args!("{at}.port"), &spec.port)? })
    }
}

impl fmt::Display for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tcpSocket {}", self.port)
    }
}
