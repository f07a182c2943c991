//! What happens to a fleet: how long each replica takes to start, when it is reopened as planned, which faults hit
//! it, which requests arrive, and from these, as a pure function of time, what is true of every replica. Probes never
//! see that; the model computes with it and the fake app acts it out.
//!
//! A [`ScenarioFile`] is what people write. A [`Scenario`] is what has been checked: it holds no nonsense.
//!
//! ```text
//! file --check()--> Scenario --condition(replica, opening, now)--> Condition --> what an endpoint says, and
//!                      |                                                         what becomes of a request
//!                      '----stores(now)--------------------------> Stores ------'
//! ```

mod condition;
mod endpoint;
mod file;
mod network;
mod random;
mod replica;
mod request;
mod speed;
mod stores;
mod timeline;
mod truth;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

pub use condition::{Condition, TrueState};
pub use endpoint::{Endpoint, Unanswerable};
pub use file::{
    Fault, Kinds, Lasting, Nonsense, RandomFault, Reopening, Replicas, RequestsPerTurn, ScenarioFile, Startup, Stopped,
    Stuck, json_schema,
};
pub use network::{Propagation, Registry, Rotation};
pub use replica::Leave;
pub use request::{Fate, PerKind, RequestKind};
pub use speed::{NotASpeed, Speed};
pub use stores::{Store, Stores};
pub use truth::{Opening, Stop};

use crate::engine::{Span, Time};
use crate::registry::Resolve;
use random::Chance;
use replica::Replica;
use timeline::Timeline;

/// The most replicas a scenario may have.
pub const MAX_REPLICAS: u32 = 100_000;

/// The most turns a scenario may have.
pub const MAX_TURNS: u32 = 100_000_000;

/// A checked scenario. Replicas are numbered from 0, time counts from the beginning of the first turn, at which all
/// replicas but those that join later are warm, and everything happens at the beginning of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    turn: Span,
    turns: u32,
    first_turn: u32,
    requests: PerKind<u32>,
    requests_from: u32,
    rotation: Rotation,
    replicas: Vec<Replica>,
    stores: Timeline<Stores>,
    paths: Paths,
    registry: Option<Registry>,
    resolve: Resolve<NonZeroU32>,
    consumers: NonZeroU32,
    propagation: Option<Propagation>,
    startup_jitter: u32,
    chances: Vec<Chance>,
    seed: u64,
}

/// When the path to a node is cut, for the nodes to which it ever is.
type Paths = BTreeMap<u32, Timeline<bool>>;

impl Scenario {
    /// The length of a turn; never zero.
    pub const fn turn(&self) -> Span {
        self.turn
    }

    /// How many turns there are: from 1 to [`MAX_TURNS`].
    pub const fn turns(&self) -> u32 {
        self.turns
    }

    /// The number that the first turn bears. All turns that a scenario speaks of bear their numbers.
    pub const fn first_turn(&self) -> u32 {
        self.first_turn
    }

    /// The numbers of all turns, in their order.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        self.first_turn..self.first_turn + self.turns
    }

    /// The requests of a turn: none before those of the scenario begin.
    pub fn requests(&self, turn: u32) -> PerKind<u32> {
        if turn < self.requests_from() { PerKind::default() } else { self.requests }
    }

    /// The first turn with requests.
    pub const fn requests_from(&self) -> u32 {
        self.first_turn + self.requests_from
    }

    /// Who gets the first request of a turn.
    pub const fn rotation(&self) -> Rotation {
        self.rotation
    }

    /// How many replicas there are, those included that join later: from 1 to [`MAX_REPLICAS`].
    pub fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// The node that a replica runs on; the first one for a replica that the scenario does not have.
    pub fn node(&self, replica: usize) -> u32 {
        self.replicas.get(replica).map_or(0, |part| part.node)
    }

    /// The revision that a replica was made from; the first one for a replica that the scenario does not have.
    pub fn revision(&self, replica: usize) -> u32 {
        self.replicas.get(replica).map_or(0, |part| part.revision)
    }

    /// Whether the path to a node is ever cut.
    pub fn cuts_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Whether anybody needs the shared stores, or anything happens to them.
    pub fn uses_stores(&self) -> bool {
        self.requests.write + self.requests.batch > 0 || self.stores != Timeline::default()
    }

    /// The registry, if there is one.
    pub const fn registry(&self) -> Option<Registry> {
        self.registry
    }

    /// How those who send requests find the replicas, with ages in turns; not by a registry that there is not.
    pub const fn resolve(&self) -> Resolve<NonZeroU32> {
        self.resolve
    }

    /// How many services find the replicas so.
    pub const fn consumers(&self) -> NonZeroU32 {
        self.consumers
    }

    /// How a decision reaches the traffic; at once if nothing is said.
    pub const fn propagation(&self) -> Option<Propagation> {
        self.propagation
    }

    /// The length of all turns together.
    pub fn length(&self) -> Span {
        self.turn * u64::from(self.turns)
    }

    /// The same scenario, over after so many turns if it has more.
    #[must_use]
    pub fn first(mut self, turns: NonZeroU32) -> Self {
        self.turns = self.turns.min(turns.get());
        self
    }

    /// When a turn begins; the first one for those before it.
    pub fn begin_of(&self, turn: u32) -> Time {
        self.begin(turn.saturating_sub(self.first_turn))
    }

    /// The turn that an instant belongs to. Turns go on being counted past the end.
    pub const fn turn_at(&self, time: Time) -> u64 {
        self.first_turn as u64 + self.index_at(time)
    }

    /// When the turn at a place, counted from 0, begins.
    fn begin(&self, index: u32) -> Time {
        Time::ZERO + self.turn * u64::from(index)
    }

    /// The place, counted from 0, of the turn that an instant belongs to.
    const fn index_at(&self, time: Time) -> u64 {
        time.as_nanos() / self.turn.as_nanos()
    }
}
