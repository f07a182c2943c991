//! The published lessons, run in a world and compared with the model. So far: "replicas", whose scenario, settings
//! and tables are in `lessons/replicas/`.
//!
//! ```text
//! command --plan--> tables          the model, in the tables of the lesson
//!               |-> cluster_world   real pods; what is measured stands beside the model
//! ```

pub mod cluster_world;
mod command;
mod error;
mod settings;
mod tables;

pub use command::{Command, Plan};
pub use error::{LessonError, NoPlan};
pub use settings::Setting;
