//! The command line of the lesson.

use std::num::NonZeroU32;

use clap::ValueEnum;

use super::settings::{self, Setting};
use super::tables::{self, TITLE};
use super::{pods, processes};
use crate::lesson::cluster_world::Options;
use crate::lesson::worlds::{World, everywhere};
use crate::lesson::{LessonError, NoPlan};
use crate::report::{COLUMNS, Delivery, Report, beside_the_model};
use crate::runtime::Stop;
use crate::scenario::{Scenario, Speed};

/// How the lesson "replicas" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it [default: local, with the model beside it; with --table the model]
    #[arg(long, value_enum)]
    world: Option<World>,
    /// Run only this setting [default: all, at the same time]
    #[arg(long)]
    setting: Option<Setting>,
    /// Divide every duration of scenario and policy; the model, which has no clock, says the same at any speed
    /// [default: 10 in the local world, 1 on the cluster]
    #[arg(long)]
    speed: Option<Speed>,
    /// Print a published table, out of the model
    #[arg(long, value_enum)]
    table: Option<PublishedTable>,
    /// Outside the model, run each setting so often and take the median of each column [default: 1]
    #[arg(long)]
    runs: Option<NonZeroU32>,
    #[command(flatten)]
    cluster: Options,
    #[command(flatten)]
    delivery: Delivery,
}

/// A table that the lesson publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PublishedTable {
    /// The four settings
    Settings,
    /// Liveness period and threshold, without and with a startup rule
    Sweep,
}

/// What is going to be done; it makes sense.
#[derive(Debug)]
pub struct Plan {
    delivery: Delivery,
    task: Task,
}

#[derive(Debug)]
enum Task {
    Settings(Scenario, Vec<Setting>),
    Sweep(Scenario),
    OnProcesses(processes::Trials),
    OnPods(pods::Trials),
    Everywhere(processes::Trials, pods::Trials),
}

impl Plan {
    /// Does it, and prints the table on standard output; of a lesson that fails or is told to stop, what was measured
    /// before. Told to stop, it cleans up first.
    pub async fn run(self, stop: &Stop) -> Result<(), LessonError> {
        let deliver = |report: Report| Ok(self.delivery.deliver(&report.with_title(TITLE))?);
        let measured = match self.task {
            Task::Settings(scenario, settings) => return deliver(tables::settings(&scenario, &settings)?),
            Task::Sweep(scenario) => return deliver(tables::sweep(&scenario)?),
            Task::OnProcesses(trials) => trials.measure(&stop.once).await,
            Task::OnPods(trials) => trials.measure(stop).await?,
            Task::Everywhere(local, cluster) => {
                everywhere(local.measure(&stop.once).await, cluster.measure(stop), &stop.once).await
            }
        };
        measured.show(|rows| deliver(beside_the_model(COLUMNS, rows)?))
    }
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let scenario = settings::scenario().map_err(LessonError::from)?;
        let settings = self.setting.map_or_else(|| Setting::ALL.to_vec(), |setting| vec![setting]);
        let task = match (self.world, self.table) {
            (Some(world @ (World::Local | World::Cluster | World::All)), Some(_)) => {
                return Err(NoPlan::TableElsewhere(world.name()));
            }
            (Some(World::Cluster), None) => Task::OnPods(self.on_pods(&scenario, &settings)?),
            (Some(World::All), None) => {
                Task::Everywhere(self.on_processes(&scenario, &settings)?, self.on_pods(&scenario, &settings)?)
            }
            (Some(World::Local) | None, None) => {
                self.cluster.none_given()?;
                Task::OnProcesses(self.on_processes(&scenario, &settings)?)
            }
            (Some(World::Model) | None, table) => self.in_model(scenario, table, settings)?,
        };
        Ok(Plan { delivery: self.delivery, task })
    }

    fn in_model(
        &self,
        scenario: Scenario,
        table: Option<PublishedTable>,
        settings: Vec<Setting>,
    ) -> Result<Task, NoPlan> {
        self.cluster.none_given()?;
        if self.runs.is_some() {
            return Err(NoPlan::NothingToMeasure);
        }
        match table {
            Some(PublishedTable::Sweep) if self.setting.is_some() => Err(NoPlan::SettingOfSweep),
            Some(PublishedTable::Sweep) => Ok(Task::Sweep(scenario)),
            Some(PublishedTable::Settings) | None => Ok(Task::Settings(scenario, settings)),
        }
    }

    fn on_processes(&self, scenario: &Scenario, settings: &[Setting]) -> Result<processes::Trials, NoPlan> {
        processes::Trials::new(settings, scenario, self.speed.unwrap_or(Speed::TEN), self.runs())
    }

    fn on_pods(&self, scenario: &Scenario, settings: &[Setting]) -> Result<pods::Trials, NoPlan> {
        pods::Trials::new(settings, scenario, self.cluster.clone(), self.speed.unwrap_or(Speed::REAL), self.runs())
    }

    fn runs(&self) -> NonZeroU32 {
        self.runs.unwrap_or(NonZeroU32::MIN)
    }
}
