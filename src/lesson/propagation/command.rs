//! The command line of the lesson.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{inputs, pods, tables};
use crate::lesson::cluster_world::{Experiment, Options};
use crate::lesson::{LessonError, NoPlan};
use crate::model::propagation::Check;
use crate::report::{Delivery, Report};
use crate::runtime::Stop;

/// How the lesson "propagation" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// Take how replicas are checked from the readiness rule of this policy of your own
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Which table of the model to print [default: delay]
    #[arg(long, value_enum)]
    table: Option<Table>,
    #[command(flatten)]
    cluster: Options,
    #[command(flatten)]
    delivery: Delivery,
}

/// A world that the lesson can be run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum World {
    /// Simulated devices in logical time
    #[default]
    Model,
    /// Pods of the current kubeconfig's cluster, whose delays are measured
    Cluster,
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
    task: Task,
    delivery: Delivery,
}

#[derive(Debug)]
enum Task {
    Table(Table, Check),
    OnCluster(Box<Experiment>),
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let policy = inputs::policy(self.policy.as_deref()).map_err(LessonError::from)?;
        let check = inputs::check(&policy, self.policy.as_deref())?;
        let task = match (self.world, self.table) {
            (World::Cluster, Some(_)) => return Err(NoPlan::TableElsewhere("cluster")),
            (World::Cluster, None) => Task::OnCluster(Box::new(pods::experiment(&policy, &self.cluster)?)),
            (World::Model, table) => {
                self.cluster.none_given()?;
                Task::Table(table.unwrap_or_default(), check)
            }
        };
        Ok(Plan { task, delivery: self.delivery })
    }
}

impl Plan {
    /// Does it, and prints the table. Told to stop on a cluster, it cleans up first.
    pub async fn run(self, stop: &Stop) -> Result<(), LessonError> {
        let report = match self.task {
            Task::Table(table, check) => table.report(check)?,
            Task::OnCluster(experiment) => pods::measure(&experiment, stop).await?,
        };
        Ok(self.delivery.deliver(&report.with_title("Lesson propagation"))?)
    }
}

impl Table {
    fn report(self, check: Check) -> Result<Report, LessonError> {
        match self {
            Self::Delay => tables::delay(check),
            Self::Devices => tables::devices(check),
            Self::Preparing => tables::preparing(check),
            Self::Connections => tables::connections(check),
            Self::History => tables::history(check),
        }
    }
}
