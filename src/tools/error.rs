//! Why a tool does not do what it was asked for.

use super::sweep::NoSpace;
use crate::api::yaml::YamlError;
use crate::local::LocalError;
use crate::model::ModelError;
use crate::report::NotDelivered;

/// What was asked for makes no sense; nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum NoPlan {
    /// A file cannot be read, or makes no sense.
    #[error(transparent)]
    File(#[from] YamlError),
    /// A trace and something else would be printed among each other.
    #[error("--trace prints to standard output: name a file for the rest with --output-file, or leave out --output")]
    TraceInTheWay,
    /// There is no such sweep.
    #[error(transparent)]
    Space(#[from] NoSpace),
}

/// What went wrong while a tool ran.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It was told to stop.
    #[error("stopped: {missing} of {total} policies are missing")]
    Stopped {
        /// Policies that were not run to their end.
        missing: usize,
        /// All of them.
        total: usize,
    },
    /// It was told to stop.
    #[error("stopped after {turns} of {total} turns")]
    StoppedAfter {
        /// Turns that have passed.
        turns: u32,
        /// All of them.
        total: u32,
    },
    /// A run on processes of this machine went wrong.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The system does not tell which file this program is.
    #[error("cannot start processes of this program: {0}")]
    Program(std::io::Error),
    /// What was found cannot be written.
    #[error(transparent)]
    Delivery(#[from] NotDelivered),
    /// The model does not run a policy.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A figure cannot be written as JSON.
    #[error("cannot write the figures")]
    Json(#[from] serde_json::Error),
}
