//! The lesson "replicas": three probes, and what each setting of them does to a fleet.

mod command;
mod pods;
mod processes;
pub mod settings;
mod tables;

pub use command::{Args, Plan};
pub use settings::Setting;
