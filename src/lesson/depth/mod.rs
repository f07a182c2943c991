//! The lesson "depth": what a health endpoint should ask, how often, and what that costs.

mod command;
mod content;
mod detection;
mod load;
mod pods;
mod processes;
mod tables;

pub use command::{Args, Plan};
