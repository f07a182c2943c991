//! The command line of the lesson.

use clap::ValueEnum;

use super::content::{self, Content};
use super::{pods, processes, tables};
use crate::api::SharedFailureSpec;
use crate::lesson::cluster_world::Options;
use crate::lesson::worlds::{World, everywhere};
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Delivery, Report, beside_the_model};
use crate::runtime::Stop;
use crate::scenario::{Scenario, Speed};

/// What a page about the lesson is called.
const TITLE: &str = "Lesson depth";

/// How the lesson "depth" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it [default: local, with the model beside it; with --table the model]
    #[arg(long, value_enum)]
    world: Option<World>,
    /// Run only this depth [default: all]
    #[arg(long)]
    setting: Option<Content>,
    /// Divide every duration of scenario and policy; the model, which has no clock, says the same at any speed
    /// [default: 10 in the local world, 1 on the cluster]
    #[arg(long)]
    speed: Option<Speed>,
    /// Print a table of the lesson, out of the model
    #[arg(long, value_enum)]
    table: Option<Table>,
    #[command(flatten)]
    cluster: Options,
    #[command(flatten)]
    delivery: Delivery,
}

/// A table of the lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    /// What each depth costs and what it saves
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
    task: Task,
    delivery: Delivery,
}

#[derive(Debug)]
enum Task {
    InModel(Table, Scenario, Vec<Content>),
    OnProcesses(processes::Trials),
    OnPods(pods::Trials),
    Everywhere(processes::Trials, pods::Trials),
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let scenario = content::scenario().map_err(LessonError::from)?;
        let contents = self.setting.map_or_else(|| Content::ALL.to_vec(), |content| vec![content]);
        let on_processes = || processes::Trials::new(&contents, &scenario, self.speed.unwrap_or(Speed::TEN));
        let on_pods =
            || pods::Trials::new(&contents, &scenario, self.cluster.clone(), self.speed.unwrap_or(Speed::REAL));
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
                let table = table.unwrap_or(Table::Content);
                if self.setting.is_some() && !matches!(table, Table::Content | Table::Neighbours) {
                    return Err(NoPlan::SettingOfTable);
                }
                Task::InModel(table, scenario, contents)
            }
        };
        Ok(Plan { task, delivery: self.delivery })
    }
}

impl Plan {
    /// Does it, and prints the table; told to stop, of what was measured until then.
    pub async fn run(self, stop: &Stop) -> Result<(), LessonError> {
        let deliver = |report: Report| Ok(self.delivery.deliver(&report.with_title(TITLE))?);
        let measured = match self.task {
            Task::InModel(table, scenario, contents) => return deliver(table.report(&scenario, &contents)?),
            Task::OnProcesses(trials) => trials.measure(&stop.once).await,
            Task::OnPods(trials) => trials.measure(stop).await?,
            Task::Everywhere(local, cluster) => {
                everywhere(local.measure(&stop.once).await, cluster.measure(stop), &stop.once).await
            }
        };
        measured.show(|rows| deliver(beside_the_model(tables::COLUMNS, rows)?))
    }
}

impl Table {
    fn report(self, scenario: &Scenario, contents: &[Content]) -> Result<Report, LessonError> {
        match self {
            Self::Content => tables::content(scenario, contents, SharedFailureSpec::Ignore),
            Self::Neighbours => tables::content(scenario, contents, SharedFailureSpec::Hold),
            Self::Interval => tables::interval(scenario),
            Self::Load => tables::load(scenario),
            Self::FalseEjection => tables::false_ejection(scenario),
        }
    }
}
