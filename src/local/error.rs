//! What can go wrong with processes.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use tokio::task::JoinError;

use crate::fake_app::load::LoadError;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// No process.
    #[error("cannot start {program}", program = program.display())]
    Start {
        /// What was to be started.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The process did not say where it listens.
    #[error("the process {name} did not say where it listens; see what it wrote above")]
    Speechless {
        /// Its name.
        name: String,
    },
    /// A process ended although nobody wanted it to.
    #[error("the process {name} failed ({status}); see what it wrote above")]
    Failed {
        /// Its name.
        name: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// The system does not tell what became of a process.
    #[error("cannot tell what became of a process: {0}")]
    Wait(io::Error),
    /// A task broke, which is a fault of this program.
    #[error(transparent)]
    Task(#[from] JoinError),
    /// The load was not sent.
    #[error(transparent)]
    Load(#[from] LoadError),
}
