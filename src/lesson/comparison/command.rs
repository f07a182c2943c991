//! The command line of such a lesson.

use std::num::NonZeroU32;

use super::pods::OnPods;
use super::processes::OnProcesses;
use super::{Choice, ModelTable};
use crate::lesson::cluster_world::Options;
use crate::lesson::worlds::{World, everywhere};
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Delivery, Report, beside_the_model};
use crate::runtime::Stop;
use crate::scenario::{Scenario, Speed};

/// How the lesson is run.
#[derive(Debug, clap::Args)]
pub struct Args<C: Choice, T: ModelTable<C>> {
    /// Where to run it [default: local, with the model beside it; with --table the model]
    #[arg(long, value_enum)]
    world: Option<World>,
    /// Run only this setting [default: all, at the same time]
    #[arg(long, value_enum)]
    setting: Option<C>,
    /// Divide every duration of scenario and policy; the model, which has no clock, says the same at any speed
    /// [default: 10 in the local world, 1 on the cluster]
    #[arg(long)]
    speed: Option<Speed>,
    /// Print a table of the lesson, out of the model
    #[arg(long, value_enum)]
    table: Option<T>,
    /// Outside the model, run each setting so often and take the median of each column [default: 1]
    #[arg(long)]
    runs: Option<NonZeroU32>,
    #[command(flatten)]
    cluster: Options,
    #[command(flatten)]
    delivery: Delivery,
}

/// What is going to be done; it makes sense.
#[derive(Debug)]
pub struct Plan<C, T> {
    delivery: Delivery,
    task: Task<C, T>,
}

#[derive(Debug)]
enum Task<C, T> {
    InModel(T, Scenario, Vec<C>),
    OnProcesses(OnProcesses<C>),
    OnPods(OnPods<C>),
    Everywhere(OnProcesses<C>, OnPods<C>),
}

impl<C: Choice, T: ModelTable<C>> Plan<C, T> {
    /// Does it, and prints the table on standard output; of a lesson that fails or is told to stop, what was measured
    /// before. Told to stop, it cleans up first.
    pub async fn run(self, stop: &Stop) -> Result<(), LessonError> {
        let deliver =
            |report: Report| Ok(self.delivery.deliver(&report.with_title(format!("Lesson {}", C::LESSON)))?);
        let measured = match self.task {
            Task::InModel(table, scenario, settings) => return deliver(table.report(&scenario, &settings)?),
            Task::OnProcesses(settings) => settings.measure(&stop.once).await,
            Task::OnPods(settings) => settings.measure(stop).await?,
            Task::Everywhere(local, cluster) => {
                everywhere(local.measure(&stop.once).await, cluster.measure(stop), &stop.once).await
            }
        };
        measured.show(|rows| deliver(beside_the_model(C::COLUMNS, rows)?))
    }
}

impl<C: Choice, T: ModelTable<C>> Args<C, T> {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan<C, T>, NoPlan> {
        let scenario = C::scenario().map_err(LessonError::from)?;
        let settings = self.setting.map_or_else(|| C::value_variants().to_vec(), |setting| vec![setting]);
        let runs = self.runs.unwrap_or(NonZeroU32::MIN);
        let on_processes = || OnProcesses::new(&settings, &scenario, self.speed.unwrap_or(Speed::TEN), runs);
        let on_pods = || {
            let speed = self.speed.unwrap_or(Speed::REAL);
            OnPods::new(&settings, &scenario, self.cluster.clone(), speed, runs)
        };
        let task = match (self.world, self.table) {
            (Some(world @ (World::Local | World::Cluster | World::All)), Some(_)) => {
                return Err(NoPlan::TableElsewhere(world.name()));
            }
            (Some(World::Cluster), None) => Task::OnPods(on_pods()?),
            (Some(World::All), None) => Task::Everywhere(on_processes()?, on_pods()?),
            (Some(World::Local) | None, None) => {
                self.cluster.none_given()?;
                Task::OnProcesses(on_processes()?)
            }
            (Some(World::Model) | None, table) => {
                self.cluster.none_given()?;
                if self.runs.is_some() {
                    return Err(NoPlan::NothingToMeasure);
                }
                let table = table.unwrap_or(T::OF_SETTINGS);
                if self.setting.is_some() && !table.is_of_settings() {
                    return Err(NoPlan::SettingOfTable);
                }
                Task::InModel(table, scenario, settings)
            }
        };
        Ok(Plan { delivery: self.delivery, task })
    }
}
