//! Dense keys for everything the engine is told about. Names and UIDs stay at the edge.
//!
//! The edge hands the keys out and may use an index again once the thing behind it is gone; the generation
//! in a [`ReplicaKey`] tells the two apart, so an effect for the old one can never reach the new one.

use std::fmt;

/// A `ProbePolicy` object. Handed out once, counted from 0 in the order of age: the lower key is never younger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyKey(pub u32);

/// One replica: in a cluster one pod UID, in the other worlds one place that processes come and go in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaKey {
    /// Position in the engine's table; dense from 0.
    pub index: u32,
    /// Grows each time the index is used again.
    pub generation: u32,
}

/// One container ID of a replica. Grows with every new container in the same place; streaks and verdicts belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u32);

/// What creates replicas: one ReplicaSet, StatefulSet, DaemonSet, or the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerKey(pub u32);

/// A node that replicas run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeKey(pub u32);

/// The revision of a workload: replicas of one revision were made from the same template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RevisionKey(pub u32);

/// What a rule asks: equal exactly when handler and container are. Evidence belongs to a question. Displays as 16
/// hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Question(pub u64);

/// One attempt, named by what it asks and a serial number within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// The replica that is asked.
    pub replica: ReplicaKey,
    /// The rule that asks.
    pub rule: super::RuleKind,
    /// Counts the attempts of this rule on this replica.
    pub serial: u32,
}

/// One intent to restart, named by what it is decided for: an answer to it says nothing of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntentId {
    /// The policy that wants it.
    pub policy: PolicyKey,
    /// The replica to be restarted.
    pub replica: ReplicaKey,
    /// The container it is decided for.
    pub incarnation: Incarnation,
}

/// One recorded transition; counts up over the engine's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransitionId(pub u64);

/// The place that a replica fills, which outlives it: backoff, loops and restarts in flight belong to a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeatKey {
    /// Whose seat it is.
    pub owner: OwnerKey,
    /// Which of the owner's seats.
    pub slot: Slot,
}

/// How a seat is told from the other seats of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// The ordinal of a StatefulSet's pod, or a replica's number in the model and the local world.
    Ordinal(u32),
    /// The node of a DaemonSet's pod.
    Node(NodeKey),
    /// Replicas without a number (ReplicaSet): the engine counts, and the next replica that the owner creates
    /// after a restart takes the seat that has been open longest.
    Nth(u32),
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
