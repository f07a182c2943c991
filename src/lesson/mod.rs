//! The published lessons, run in a world and compared with the model. Their scenarios, settings and tables are in
//! `lessons/`.
//!
//! ```text
//! command --plan--> tables          lesson "replicas": the model, in the tables of the lesson
//!               |-> cluster_world   real pods; what is measured stands beside the model
//!               |-> discovery       lesson "discovery", in the model
//!               '-> propagation     lesson "propagation", in the model
//! ```

pub mod cluster_world;
mod command;
pub mod discovery;
mod error;
mod propagation;
mod settings;
mod tables;

pub use command::{Command, Plan};
pub use error::{LessonError, NoPlan};
pub use settings::Setting;
