//! The lesson "replicas": three probes, and what each setting of them does to a fleet.

mod settings;
mod tables;

use super::comparison;

pub use settings::Setting;

/// How the lesson is run.
pub type Args = comparison::Args<Setting, tables::Published>;
/// What is going to be done; it makes sense.
pub type Plan = comparison::Plan<Setting, tables::Published>;
