//! One policy on one scenario, or two beside each other.

mod command;
mod table;

pub use command::{SimulateArgs, SimulatePlan};
