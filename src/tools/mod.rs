//! The tools that run people's own policies and scenarios: in the model one policy, two beside each other, or a whole
//! space of them, and on processes of this machine one that may be edited meanwhile.
//!
//! ```text
//! simulate   one run, or two and where their decisions part
//! lab        one run on processes
//! sweep      vary: fields and values --> space: every combination, checked --> run: on all cores
//! ```

mod error;
mod input;
mod lab;
mod outcome;
mod simulate;
mod sweep;

pub use error::{NoPlan, ToolError};
pub use lab::{LabArgs, LabPlan};
pub use simulate::{SimulateArgs, SimulatePlan};
pub use sweep::{NoSpace, SweepArgs, SweepPlan};
