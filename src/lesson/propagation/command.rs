//! The command line of the lesson.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{inputs, tables};
use crate::lesson::{LessonError, NoPlan};
use crate::model::propagation::Check;
use crate::report::Delivery;

/// How the lesson "propagation" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// Take how replicas are checked from the readiness rule of this policy of your own
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Which table to print
    #[arg(long, value_enum, default_value_t)]
    table: Table,
    #[command(flatten)]
    delivery: Delivery,
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
enum Table {
    /// From a fault, or its end, to the traffic
    #[default]
    Delay,
    /// For how long several devices may differ
    Devices,
    /// What it costs to assign or change a profile
    Preparing,
    /// Open connections that outlive an ejection
    Connections,
    /// What happens to a replica, and when a screen and the traffic follow
    History,
}

/// What is going to be done; it makes sense.
#[derive(Debug)]
pub struct Plan {
    check: Check,
    table: Table,
    delivery: Delivery,
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let World::Model = self.world;
        let check = inputs::check(self.policy.as_deref())?;
        Ok(Plan { check, table: self.table, delivery: self.delivery })
    }
}

impl Plan {
    /// Does it, and prints the table.
    pub fn run(self) -> Result<(), LessonError> {
        let report = match self.table {
            Table::Delay => tables::delay(self.check),
            Table::Devices => tables::devices(self.check),
            Table::Preparing => tables::preparing(self.check),
            Table::Connections => tables::connections(self.check),
            Table::History => tables::history(self.check),
        };
        Ok(self.delivery.deliver(&report?.with_title("Lesson propagation"))?)
    }
}
