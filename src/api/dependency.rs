//! What all replicas of a policy need, and how that is asked.

use std::collections::BTreeSet;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{self, Check};
use super::convert::{self, SpecError};
use super::handler::{Handler, HandlerSpec};
use super::spec::{FleetSpec, default};
use super::{Duration, GrpcSpec, HttpGetSpec, Selector, TcpSocketSpec};
use crate::engine::{Dependency, DependencyName, Rule, Span, WhenDown};

/// What all replicas of the policy need, and how that is asked: a question to the pods that stand for it. It passes if
/// any of them does, and fails if none does or none is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = ONE.rule())]
pub struct DependencySpec {
    /// Its name: at most 15 lower-case letters, digits and hyphens, no hyphen at either end.
    #[schemars(length(max = 15))]
    #[x_kube(validation = NAME.rule())]
    pub name: String,

    /// Which pods of the policy's namespace stand for it, by their labels. Required; an empty selector is refused. At
    /// most 16 are asked at a time, those that are Ready first.
    pub selector: Selector,

    /// Ask with an HTTP GET request, as a rule does. One of the handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetSpec>,

    /// Ask by opening a TCP connection, as a rule does. One of the handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketSpec>,

    /// Ask a gRPC health service, as a rule does. One of the handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcSpec>,

    /// From one attempt to the next: a duration from 10ms to 24h. Before a replica is ejected it is asked besides.
    /// Default 10s.
    #[serde(default = "default::period")]
    #[x_kube(validation = checks::PERIOD.rule())]
    pub period: Duration,

    /// How long an attempt may take in all: a duration from 10ms to 24h. Default 3s.
    #[serde(default = "default::timeout")]
    #[x_kube(validation = checks::PERIOD.rule())]
    pub timeout: Duration,

    /// Failures in a row that make it down, from 1 to 10000. The first of them holds already what is held. Default 3.
    #[serde(default = "default::three")]
    #[x_kube(validation = checks::COUNT.rule())]
    pub failure_threshold: i32,

    /// Passes in a row after which it is not down any more, from 1 to 10000. Default 1.
    #[serde(default = "default::one")]
    #[x_kube(validation = checks::COUNT.rule())]
    pub success_threshold: i32,

    /// What is held while it fails. HoldEjections: nobody who is in the pool is ejected for failing readiness. HoldAll:
    /// nor is anybody restarted. Default HoldEjections.
    #[serde(default)]
    pub when_down: WhenDownSpec,
}

/// What is held while a dependency fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum WhenDownSpec {
    /// Nobody who is in the pool is ejected for failing readiness.
    #[default]
    HoldEjections,
    /// Nor is anybody restarted.
    HoldAll,
}

/// Whom a dependency is asked of, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyAsk {
    /// Its name.
    pub name: DependencyName,
    /// Which pods stand for it; not empty.
    pub selector: Selector,
    /// How each of them is asked; never by a command.
    pub handler: Handler,
}

/// Exactly one handler, and none that runs a command in a pod that is not the policy's.
const ONE: Check<DependencySpec, HandlerSpec> = Check {
    cel: "[has(self.httpGet), has(self.tcpSocket), has(self.grpc)].exists_one(written, written)",
    member: "",
    sentence: "must have exactly one handler: httpGet, tcpSocket or grpc",
    parse: |dependency| {
        let mut written = [
            dependency.http_get.clone().map(HandlerSpec::Http),
            dependency.tcp_socket.clone().map(HandlerSpec::Tcp),
            dependency.grpc.clone().map(HandlerSpec::Grpc),
        ]
        .into_iter()
        .flatten();
        written.next().filter(|_| written.next().is_none())
    },
};

const NAME: Check<String, DependencyName> = Check {
    cel: "self.size() <= 15 && self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')",
    member: "",
    sentence: "must be a dependency's name: at most 15 lower-case letters, digits and hyphens, no hyphen at either end",
    parse: |name| DependencyName::new(name),
};

/// The whole list.
pub(super) const FEW: Check<Vec<DependencySpec>> = Check {
    cel: "self.size() <= 4 && self.all(one, self.exists_one(other, other.name == one.name))",
    member: "",
    sentence: "must be at most 4 dependencies, no two of the same name",
    parse: |dependencies| {
        let names: BTreeSet<_> = dependencies.iter().map(|dependency| &dependency.name).collect();
        (dependencies.len() <= 4 && names.len() == dependencies.len()).then_some(())
    },
};

/// What the list means, in its order.
pub(super) fn parse_all(fleet: &FleetSpec) -> Result<(Vec<Dependency>, Vec<DependencyAsk>), SpecError> {
    const AT: &str = "spec.fleet.dependencies";
    FEW.parse(AT, &fleet.dependencies)?;
    let parsed = (0..).zip(&fleet.dependencies).map(|(index, spec)| parse(&format!("{AT}[{index}]"), spec));
    Ok(parsed.collect::<Result<Vec<_>, _>>()?.into_iter().unzip())
}

fn parse(at: &str, spec: &DependencySpec) -> Result<(Dependency, DependencyAsk), SpecError> {
    let name = NAME.parse(format_args!("{at}.name"), &spec.name)?;
    convert::check_selector(&format!("{at}.selector"), &spec.selector)?;
    let handler = ONE.parse(at, spec)?.parse(at)?;
    let selector = spec.selector.clone();
    let rule = Rule {
        question: convert::question(&format!("{handler} of {selector:?}")),
        period: checks::PERIOD.parse(format_args!("{at}.period"), &spec.period)?,
        timeout: checks::PERIOD.parse(format_args!("{at}.timeout"), &spec.timeout)?,
        startup_period: None,
        fast_period: None,
        initial_delay: Span::ZERO,
        failure_threshold: checks::COUNT.parse(format_args!("{at}.failureThreshold"), &spec.failure_threshold)?,
        success_threshold: checks::COUNT.parse(format_args!("{at}.successThreshold"), &spec.success_threshold)?,
        failure_window: None,
    };
    let when_down = match spec.when_down {
        WhenDownSpec::HoldEjections => WhenDown::HoldEjections,
        WhenDownSpec::HoldAll => WhenDown::HoldAll,
    };
    Ok((Dependency { name, rule, when_down }, DependencyAsk { name, selector, handler }))
}
