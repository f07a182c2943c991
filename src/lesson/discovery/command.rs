//! The command line of the lesson.

use std::path::PathBuf;

use clap::ValueEnum;

use super::placement::{Placed, Placement};
use super::tables;
use crate::lesson::{LessonError, NoPlan};
use crate::report::Delivery;

/// How the lesson "discovery" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// Run only this placement [default: all]
    #[arg(long, value_enum, conflicts_with = "table")]
    setting: Option<Placement>,
    /// Run this scenario of your own instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["setting", "table"])]
    scenario: Option<PathBuf>,
    /// Print a table of the lesson, out of the model
    #[arg(long, value_enum)]
    table: Option<Table>,
    #[command(flatten)]
    delivery: Delivery,
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
enum Table {
    /// How long each placement goes on sending to a dead address
    Placements,
    /// What each window costs
    Budget,
    /// What a shorter time to live saves, and what it costs
    Sensitivity,
    /// A health check and a registry together
    Combined,
}

/// What is going to be done; it makes sense.
#[derive(Debug)]
pub struct Plan {
    placed: Vec<Placed>,
    table: Table,
    delivery: Delivery,
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let World::Model = self.world;
        let placed = match (self.scenario, self.setting) {
            (Some(file), _) => Placed::read(&file).map(|placed| vec![placed]),
            (None, Some(placement)) => placement.placed().map(|placed| vec![placed]),
            (None, None) => Placement::ALL.into_iter().map(Placement::placed).collect(),
        };
        Ok(Plan {
            placed: placed.map_err(LessonError::from)?,
            table: self.table.unwrap_or(Table::Placements),
            delivery: self.delivery,
        })
    }
}

impl Plan {
    /// Does it, and prints the table.
    pub fn run(self) -> Result<(), LessonError> {
        let report = match self.table {
            Table::Placements => tables::placements(&self.placed),
            Table::Budget => tables::budget(),
            Table::Sensitivity => tables::sensitivity(),
            Table::Combined => tables::combined(),
        };
        Ok(self.delivery.deliver(&report?.with_title("Lesson discovery"))?)
    }
}
