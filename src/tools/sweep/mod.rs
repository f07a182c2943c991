//! Many policies on one scenario: every combination of the values that some fields take.

mod command;
mod cores;
mod field;
mod front;
mod progress;
mod run;
mod space;
mod table;
mod values;

pub use command::{SweepArgs, SweepPlan};
pub use space::NoSpace;
