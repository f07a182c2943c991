//! Attempts against real sockets that misbehave: each ends in the right class, within the deadline.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

mod exec;
mod grpc;
mod http;
mod https;
mod server;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;
use std::{env, io};

use probe_policy::api::{Handler, ProbePolicySpec};
use probe_policy::engine::OutcomeClass::{
    self, BadBody, BadCall, BadCertificate, BadExit, BadStatus, ConnectTimeout, NoResponse, NotServing, Passed,
    ProberError, Refused,
};
use probe_policy::engine::{Phase, Span};
use probe_policy::probe::{self, Loopback, STARVED_AFTER, Sockets, Target};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const TIMEOUT: Span = Span::from_secs(1);

/// A complaint if the outcome is another, or comes too late.
async fn check(name: &'static str, target: Target, expected: OutcomeClass) -> Option<String> {
    let outcome = probe::attempt(&target, TIMEOUT).await;
    let right = outcome.class == expected && outcome.took <= TIMEOUT + STARVED_AFTER;
    (!right).then(|| format!("{name}: expected {expected:?}, found {:?} after {}", outcome.class, outcome.took))
}

/// Fails with every complaint there is.
async fn assert_none(complaints: JoinSet<Option<String>>) {
    let complaints: Vec<String> = complaints.join_all().await.into_iter().flatten().collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

const fn bad_status(status: u16) -> OutcomeClass {
    BadStatus { status }
}

fn http(address: SocketAddr) -> Target {
    http_with(address, json!({"path": "/live"}))
}

/// A GET with such settings beside its port.
fn http_with(address: SocketAddr, mut settings: Value) -> Target {
    settings["port"] = 80.into();
    target(address, json!({"httpGet": settings}))
}

fn tcp(address: SocketAddr) -> Target {
    target(address, json!({"tcpSocket": {"port": 80}}))
}

/// What a rule asks at an address.
fn target(address: SocketAddr, rule: Value) -> Target {
    Target::new(&handler(rule), address, Loopback::Allowed).unwrap()
}

fn handler(rule: Value) -> Handler {
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "liveness": rule});
    let policy = serde_json::from_value::<ProbePolicySpec>(spec).unwrap().parse(1, Phase::Spread).unwrap();
    policy.asks.liveness.unwrap().handler
}
