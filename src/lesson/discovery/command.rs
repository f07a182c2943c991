//! The command line.

use clap::{Args, ValueEnum};

use super::placement::Placement;
use super::tables;
use crate::lesson::LessonError;
use crate::report::{Output, Report};

/// How the lesson "discovery" is run.
#[derive(Debug, Args)]
pub struct DiscoveryArgs {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// Run only this placement [default: all]
    #[arg(long, value_enum, conflicts_with = "table")]
    placement: Option<Placement>,
    /// How to print the table
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Print a table of the lesson, out of the model
    #[arg(long, value_enum)]
    table: Option<DiscoveryTable>,
}

/// A world that the lesson can be run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum World {
    /// Simulated replicas in logical time
    #[default]
    Model,
}

/// A table of the lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DiscoveryTable {
    /// How long each placement goes on sending to a dead address
    Placements,
    /// What each window costs
    Budget,
    /// What a shorter time to live saves, and what it costs
    Sensitivity,
    /// A health check and a registry together
    Combined,
}

impl DiscoveryArgs {
    /// How to print it.
    pub const fn output(&self) -> Output {
        self.output
    }

    /// What is asked for.
    pub fn report(&self) -> Result<Report, LessonError> {
        let World::Model = self.world;
        match self.table {
            None => tables::placements(self.placement.as_ref().map_or(&Placement::ALL, std::slice::from_ref)),
            Some(DiscoveryTable::Placements) => tables::placements(&Placement::ALL),
            Some(DiscoveryTable::Budget) => tables::budget(),
            Some(DiscoveryTable::Sensitivity) => tables::sensitivity(),
            Some(DiscoveryTable::Combined) => tables::combined(),
        }
    }
}
