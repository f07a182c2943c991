//! When a decision reaches the traffic.
//!
//! A device checks a replica and decides after so many failures, or successes, in a row. What forwards its traffic
//! reads its results at times of its own, by the [`Profile`]. So two delays add up, and each has a phase:
//!
//! ```text
//! health of the replica --judge--> standing, as a screen shows it --forward--> pool, as the traffic follows it
//! ```
//!
//! Each of the three is a [`Timeline`]: a history of transitions, and a state at any time. [`simulated`] runs devices
//! over all phases; [`closed_form`] says what must come out.

pub mod closed_form;
mod connections;
mod device;
mod forwarder;
mod profile;
pub mod simulated;
#[cfg(test)]
mod tests;
mod timeline;

pub use connections::{Connections, Leftover};
pub use device::{Device, Health, Phases, Pool, Standing};
pub use forwarder::Forwarder;
pub use profile::{Check, Move, Profile, Reads};
pub use timeline::{Edge, Timeline};

use crate::engine::Span;

/// How long something takes, over all phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The longest; phases come as close to it as one likes.
    pub worst: Span,
    /// The mean.
    pub mean: Span,
}

/// What lies between a fault, or its end, and the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// From there to the decision.
    pub to_decision: Delay,
    /// From the decision to the traffic; none if it never gets there.
    pub from_decision: Option<Delay>,
    /// The whole way.
    pub to_traffic: Option<Delay>,
}
