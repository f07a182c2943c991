//! The lesson "discovery": a replica dies, another joins, and those who send requests learn it from a list, from a
//! registry, or from a list that they had from the registry.

mod budget;
mod command;
mod placement;
mod processes;
mod tables;

pub use command::{Args, Plan};
pub use placement::{Figures, Placement};
