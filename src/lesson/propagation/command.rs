//! The command line.

use clap::{Args, ValueEnum};

use super::tables;
use crate::lesson::LessonError;
use crate::report::{Output, Report};

/// How the lesson "propagation" is run.
#[derive(Debug, Args)]
pub struct PropagationArgs {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// How to print the table
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Which table of the lesson to print
    #[arg(long, value_enum, default_value_t)]
    table: PropagationTable,
}

/// A world that the lesson can be run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum World {
    /// Simulated devices in logical time
    #[default]
    Model,
}

/// A table of the lesson.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PropagationTable {
    /// From a fault, or its end, to the traffic
    #[default]
    Delay,
    /// For how long several devices may differ
    Devices,
    /// What it costs to assign or change a profile
    Preparing,
    /// Open connections that outlive an ejection
    Connections,
}

impl PropagationArgs {
    /// How to print it.
    pub const fn output(&self) -> Output {
        self.output
    }

    /// What is asked for.
    pub fn report(&self) -> Result<Report, LessonError> {
        let World::Model = self.world;
        match self.table {
            PropagationTable::Delay => tables::delay(),
            PropagationTable::Devices => tables::devices(),
            PropagationTable::Preparing => tables::preparing(),
            PropagationTable::Connections => tables::connections(),
        }
    }
}
