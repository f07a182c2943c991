//! What the load writes: one JSON object a line.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::plan::ms;
use crate::fake_app::Write;
use crate::scenario::{RequestKind, TrueState};

/// A line. The summary is the last one; the others come as things happen, not sorted by time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Line {
    /// What happened to a request.
    Request(RequestLine),
    /// What the replicas really were in the middle of a turn.
    Truth(TruthLine),
    /// What it all came to.
    Summary(Summary),
}

impl Line {
    /// Writes it, at once.
    pub fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        out.write_all(&text)?;
        out.flush()
    }
}

/// What happened to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestLine {
    /// The turn it was sent in, from 0.
    pub turn: u32,
    /// Its number in that turn, from 0.
    pub n: u32,
    /// What it asked for.
    pub request: RequestKind,
    /// When it was sent, in milliseconds since the first turn began.
    pub at_ms: f64,
    /// The pod it was sent to, or that answered; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// How it went.
    pub outcome: Outcome,
    /// How long that took, in milliseconds, with finding somebody to send it to.
    pub latency_ms: f64,
    /// The true state that the replica gave as the reason for not serving.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TrueState>,
}

impl RequestLine {
    /// Whether it failed, as far as whoever sent it knows.
    pub fn failed(&self) -> bool {
        self.outcome != Outcome::Served
    }

    /// Whether it failed on a replica that was starting.
    pub fn failed_early(&self) -> bool {
        self.state == Some(TrueState::Starting)
    }
}

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It was served.
    Served,
    /// The replica answered that it does not serve.
    NotServing,
    /// No answer within the timeout, be it of the connection or of the process.
    TimedOut,
    /// No connection.
    Refused,
    /// The connection ended before the answer was complete.
    Broken,
    /// Nobody was ready.
    EmptyPool,
}

/// What the replicas really were in the middle of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TruthLine {
    /// The turn, from 0.
    pub turn: u32,
    /// How many endpoints were ready.
    pub pool: usize,
    /// How many replicas were healthy, in the pool or not.
    pub healthy: usize,
    /// Connections open to pods that were no longer in the pool.
    pub outliving: usize,
    /// The true state of each pod; none for one that did not say.
    pub states: BTreeMap<String, Option<TrueState>>,
}

/// What it all came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// When the first turn began.
    pub start: Timestamp,
    /// Requests sent.
    pub requests: u64,
    /// Requests that were not sent, since the load was told to end.
    pub unsent: u64,
    /// The most that a request was sent after it was due, in milliseconds.
    pub latest_ms: f64,
    /// Requests that failed.
    pub total_errors: u64,
    /// Of those, on a member that was starting.
    pub early_errors: u64,
    /// The failed requests by how they went.
    pub failed: BTreeMap<Outcome, u64>,
    /// Healthy replicas a turn, on average; none without a turn.
    pub truly_serving: Option<f64>,
    /// Writes that were accepted and that the store does not hold; none if nobody asked the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_writes: Option<Vec<Write>>,
    /// Connections that outlived the ejection of their pod.
    pub outlived: Outlived,
}

impl Summary {
    /// That the figures are off since requests were sent late, if one was later than that.
    pub fn remark(&self, tolerable: Duration) -> Option<String> {
        let late = self.latest_ms;
        (late > ms(tolerable)).then(|| {
            format!("requests were sent up to {late:.0} ms late, so the figures are off: a lower --speed asks less of a busy machine")
        })
    }
}

/// Connections that outlived the ejection of their pod, until they ended, the pod was admitted again, or the load
/// ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outlived {
    /// How often that happened.
    pub connections: u64,
    /// The longest time that one did, in milliseconds.
    pub longest_ms: f64,
}
