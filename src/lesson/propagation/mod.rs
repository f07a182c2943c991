//! The lesson "propagation": what lies between a fault and the traffic that follows it.

mod command;
mod inputs;
mod pods;
mod tables;

pub use command::{Args, Plan};
