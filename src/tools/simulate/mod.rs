//! One policy on one scenario, or two beside each other.

mod command;
mod parting;
mod table;
mod trace;

pub use command::{SimulateArgs, SimulatePlan};
