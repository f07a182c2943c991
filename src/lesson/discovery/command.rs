//! The command line of the lesson.

use std::path::PathBuf;

use clap::ValueEnum;
use tokio_util::sync::CancellationToken;

use super::placement::{COLUMNS, Placed, Placement};
use super::processes::Placements;
use super::tables;
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Delivery, Report, beside_the_model};
use crate::scenario::Speed;

/// What a page about the lesson is called.
const TITLE: &str = "Lesson discovery";

/// How the lesson "discovery" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it [default: local, with the model beside it; with --table the model]
    #[arg(long, value_enum)]
    world: Option<World>,
    /// Divide every duration of the scenario; the model, which has no clock, says the same at any speed
    #[arg(long, default_value_t = Speed::TEN)]
    speed: Speed,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum World {
    /// Simulated replicas in logical time
    Model,
    /// Processes on this machine
    Local,
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
    task: Task,
    delivery: Delivery,
}

#[derive(Debug)]
enum Task {
    InModel(Table, Vec<Placed>),
    OnProcesses(Placements),
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let placed = match (self.scenario, self.setting) {
            (Some(file), _) => Placed::read(&file).map(|placed| vec![placed]),
            (None, Some(placement)) => placement.placed().map(|placed| vec![placed]),
            (None, None) => Placement::ALL.into_iter().map(Placement::placed).collect(),
        };
        let placed = placed.map_err(LessonError::from)?;
        let task = match (self.world, self.table) {
            (Some(World::Local), Some(_)) => return Err(NoPlan::TableElsewhere("local")),
            (Some(World::Local) | None, None) => Task::OnProcesses(Placements::new(placed, self.speed)?),
            (Some(World::Model) | None, table) => Task::InModel(table.unwrap_or(Table::Placements), placed),
        };
        Ok(Plan { task, delivery: self.delivery })
    }
}

impl Plan {
    /// Does it, and prints the table; told to stop, of what was measured until then.
    pub async fn run(self, stop: &CancellationToken) -> Result<(), LessonError> {
        let deliver = |report: Report| Ok(self.delivery.deliver(&report.with_title(TITLE))?);
        match self.task {
            Task::InModel(table, placed) => deliver(table.report(&placed)?),
            Task::OnProcesses(placements) => {
                placements.measure(stop).await.show(|rows| deliver(beside_the_model(&COLUMNS, rows)?))
            }
        }
    }
}

impl Table {
    fn report(self, placed: &[Placed]) -> Result<Report, LessonError> {
        match self {
            Self::Placements => tables::placements(placed),
            Self::Budget => tables::budget(),
            Self::Sensitivity => tables::sensitivity(),
            Self::Combined => tables::combined(),
        }
    }
}
