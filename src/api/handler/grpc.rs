//! The gRPC kind: one question to the health service (`grpc.health.v1`).

use std::fmt;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tls::{Application, Tls, TlsSpec};
use crate::api::checks::Check;
use crate::api::convert::SpecError;
use crate::api::{Port, checks};

/// A question to a gRPC health service, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrpcSpec {
    /// The pod's port: a number from 1 to 65535, or the name of a port that the container declares.
    #[schemars(extend("maxLength" = 64))]
    #[x_kube(validation = checks::PORT.rule())]
    pub port: IntOrString,

    /// The service that is asked about: at most 253 visible ASCII characters. Default empty: the server as a whole.
    #[serde(default)]
    #[schemars(length(max = 253))]
    #[x_kube(validation = SERVICE.rule())]
    pub service: String,

    /// The states that pass, at least one: Serving, NotServing, Unknown. A liveness rule may take NotServing for the
    /// answer of a process that lives. Default Serving.
    #[serde(default = "default_accept")]
    #[schemars(length(max = 3))]
    #[x_kube(validation = ACCEPT.rule())]
    pub accept: Vec<ServingState>,

    /// TLS, and how the server is met. Without it the question goes in plain text (h2c).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
}

/// What a health service says of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ServingState {
    /// It serves.
    Serving,
    /// It does not.
    NotServing,
    /// It cannot tell.
    Unknown,
}

/// A question to a gRPC health service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grpc {
    port: Port,
    service: String,
    accept: Vec<ServingState>,
    tls: Option<Tls>,
}

impl Grpc {
    pub(super) fn parse(at: &str, spec: &GrpcSpec) -> Result<Self, SpecError> {
        let tls = match &spec.tls {
            Some(tls) => Some(Tls::parse(&format!("{at}.tls"), tls, Application::Http2)?),
            None => None,
        };
        SERVICE.parse(format_args!("{at}.service"), &spec.service)?;
        ACCEPT.parse(format_args!("{at}.accept"), &spec.accept)?;
        Ok(Self {
            port: checks::PORT.parse(format_args!("{at}.port"), &spec.port)?,
            service: spec.service.clone(),
            accept: spec.accept.clone(),
            tls,
        })
    }

    /// Where.
    pub const fn port(&self) -> &Port {
        &self.port
    }

    /// About which service; empty for the server as a whole.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Whether a state passes.
    pub fn accepts(&self, state: ServingState) -> bool {
        self.accept.contains(&state)
    }

    /// How the server is met, if it is asked over TLS.
    pub const fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }
}

/// Settings at their default are left out, so that a new one does not change the questions that were asked before.
impl fmt::Display for Grpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grpc {} {:?}", self.port, self.service)?;
        if self.accept != default_accept() {
            write!(f, " accept={:?}", self.accept)?;
        }
        match &self.tls {
            Some(tls) => tls.fmt(f),
            None => Ok(()),
        }
    }
}

const SERVICE: Check<String> = Check {
    cel: "self.size() <= 253 && self.matches('^[!-~]*$')",
    member: "",
    sentence: "must be at most 253 visible ASCII characters",
    parse: |service| (service.len() <= 253 && service.bytes().all(|b| b.is_ascii_graphic())).then_some(()),
};

const ACCEPT: Check<Vec<ServingState>> = Check {
    cel: "self.size() >= 1",
    member: "",
    sentence: "must name at least one state: Serving, NotServing or Unknown",
    parse: |states| (!states.is_empty()).then_some(()),
};

fn default_accept() -> Vec<ServingState> {
    vec![ServingState::Serving]
}
