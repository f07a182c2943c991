//! The command line of the lesson.

use clap::ValueEnum;

use super::content::{self, Content};
use super::tables;
use crate::api::SharedFailureSpec;
use crate::lesson::{LessonError, NoPlan};
use crate::report::Delivery;
use crate::scenario::Scenario;

/// How the lesson "depth" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// Run only this depth [default: all]
    #[arg(long)]
    setting: Option<Content>,
    /// Which table to print
    #[arg(long, value_enum, default_value_t)]
    table: Table,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Table {
    /// What each depth costs and what it saves
    #[default]
    Content,
    /// The same while a replica is only ejected if it is worse off than its neighbours (sharedFailure: Hold)
    Neighbours,
    /// What it costs to ask less often
    Interval,
    /// What the asking itself costs
    Load,
    /// What it costs to eject a replica that is only briefly silent
    FalseEjection,
}

/// What is going to be done; it makes sense.
#[derive(Debug)]
pub struct Plan {
    scenario: Scenario,
    contents: Vec<Content>,
    table: Table,
    delivery: Delivery,
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let World::Model = self.world;
        if self.setting.is_some() && !matches!(self.table, Table::Content | Table::Neighbours) {
            return Err(NoPlan::SettingOfTable);
        }
        Ok(Plan {
            scenario: content::scenario().map_err(LessonError::from)?,
            contents: self.setting.map_or_else(|| Content::ALL.to_vec(), |content| vec![content]),
            table: self.table,
            delivery: self.delivery,
        })
    }
}

impl Plan {
    /// Does it, and prints the table.
    pub fn run(self) -> Result<(), LessonError> {
        let report = match self.table {
            Table::Content => tables::content(&self.scenario, &self.contents, SharedFailureSpec::Ignore),
            Table::Neighbours => tables::content(&self.scenario, &self.contents, SharedFailureSpec::Hold),
            Table::Interval => tables::interval(&self.scenario),
            Table::Load => tables::load(&self.scenario),
            Table::FalseEjection => tables::false_ejection(&self.scenario),
        };
        Ok(self.delivery.deliver(&report?.with_title("Lesson depth"))?)
    }
}
