//! The published lessons, run in a world and compared with the model. The files of each are in `lessons/`.
//!
//! ```text
//! lessons --plan--> replicas, depth, discovery, propagation,  the model, in the tables of the lesson
//!                     | faults
//!                     |-> processes, on this machine          real processes \ what is measured
//!                     '-> cluster_world                       real pods      / stands beside the model
//! ```
//!
//! A lesson is a module with a command line, which makes a plan, and a plan, which is run. Those of `replicas` and
//! `depth`, whose settings are policies for one scenario, are the same: `comparison`. `faults` is our own.

pub mod cluster_world;
mod comparison;
mod depth;
pub mod discovery;
mod error;
mod faults;
mod lessons;
mod measured;
mod processes;
mod progress;
mod propagation;
mod replicas;
mod worlds;

pub use error::{LessonError, NoPlan};
pub use lessons::{Command, Plan};
pub use replicas::Setting;
