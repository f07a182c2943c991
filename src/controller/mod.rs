//! The running process: it watches, and as long as it leads, it asks, decides and acts.
//!
//! ```text
//!  watches --> Index --inputs--> Engine --effects--> attempts, executors --results--> Engine
//!                    one task owns both: run                  tasks: leader
//! ```
//!
//! Whoever acts holds a [`elect::Permit`] and looks at it immediately before each write.

mod answer;
pub mod beats;
pub mod elect;
pub mod events;
mod findings;
#[cfg(test)]
mod fixtures;
pub mod gate;
pub mod http;
mod leader;
pub mod lease;
mod ledger;
pub mod metrics;
#[cfg(test)]
mod playground;
pub mod release;
mod replica_states;
pub mod restart;
mod run;
mod slices;
mod startup_durations;
pub mod state;
mod status;
mod statuses;
mod targets;
pub mod telemetry;

pub use run::{RunError, Settings, run};
