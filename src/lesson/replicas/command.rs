//! The command line of the lesson.

use std::io;
use std::num::NonZeroU32;

use clap::ValueEnum;
use futures::future::join_all;
use indicatif::MultiProgress;
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::settings::{self, Setting, at_speed};
use super::tables::{self, Comparison};
use crate::engine::Phase;
use crate::lesson::cluster_world::{self, Experiment, Probes};
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Figures, Output, Report};
use crate::scenario::{Scenario, Speed};

/// The image of the fake app that is built from these sources.
const IMAGE: &str = concat!("localhost/fake-app:", env!("CARGO_PKG_VERSION"));

/// How the lesson "replicas" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// Run only this setting [default: all, at the same time]
    #[arg(long)]
    setting: Option<Setting>,
    /// Divide every duration of scenario and policy; the model, which has no clock, says the same at any speed
    #[arg(long, default_value_t = Speed::REAL)]
    speed: Speed,
    /// Who probes, on the cluster [default: own]
    #[arg(long, value_enum)]
    probes: Option<Probes>,
    /// How to print the table
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Print a published table, out of the model
    #[arg(long, value_enum)]
    table: Option<PublishedTable>,
    /// On the cluster, run each setting so often and take the median of each column [default: 1]
    #[arg(long)]
    runs: Option<NonZeroU32>,
    /// On the cluster, begin the names of the namespaces with this [default: lesson]
    #[arg(long, value_name = "PREFIX")]
    namespace: Option<String>,
    /// On the cluster, the image of the fake app [default: localhost/fake-app:VERSION]
    #[arg(long)]
    image: Option<String>,
}

/// A world that a lesson can be run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum World {
    /// Simulated replicas in logical time
    #[default]
    Model,
    /// Pods of the current kubeconfig's cluster
    Cluster,
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
    output: Output,
    task: Task,
}

#[derive(Debug)]
enum Task {
    Settings(Scenario, Vec<Setting>),
    Sweep(Scenario),
    Measure { experiments: Vec<Experiment>, probes: Probes, runs: u32 },
}

impl Plan {
    /// Does it, and prints the table on standard output; of a lesson that fails or is told to stop, what was measured
    /// before. Told to stop, it cleans up first.
    pub async fn run(self, stop: &CancellationToken) -> Result<(), LessonError> {
        let print = |report: Report| report.write(self.output, &mut io::stdout().lock());
        match self.task {
            Task::Settings(scenario, settings) => print(tables::settings(&scenario, &settings)?)?,
            Task::Sweep(scenario) => print(tables::sweep(&scenario)?)?,
            Task::Measure { experiments, probes, runs } => {
                let mut rows = Vec::new();
                let measured = measure(&experiments, probes, runs, stop, &mut rows).await;
                if !rows.is_empty() {
                    print(tables::comparison(&rows)?)?;
                }
                measured?;
            }
        }
        Ok(())
    }
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let scenario = settings::scenario().map_err(LessonError::from)?;
        let settings = self.setting.map_or_else(|| Setting::ALL.to_vec(), |setting| vec![setting]);
        let task = match (self.world, self.table) {
            (World::Cluster, Some(_)) => return Err(NoPlan::TableOnCluster),
            (World::Model, Some(PublishedTable::Sweep)) if self.setting.is_some() => {
                return Err(NoPlan::SettingOfSweep);
            }
            (World::Model, table) => {
                self.refuse_what_is_for_the_cluster()?;
                match table {
                    Some(PublishedTable::Sweep) => Task::Sweep(scenario),
                    Some(PublishedTable::Settings) | None => Task::Settings(scenario, settings),
                }
            }
            (World::Cluster, None) => self.measuring(&scenario, settings)?,
        };
        Ok(Plan { output: self.output, task })
    }

    fn refuse_what_is_for_the_cluster(&self) -> Result<(), NoPlan> {
        let given = [
            ("--probes", self.probes.is_some()),
            ("--runs", self.runs.is_some()),
            ("--namespace", self.namespace.is_some()),
            ("--image", self.image.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(NoPlan::OnlyOnCluster(option)),
            None => Ok(()),
        }
    }

    fn measuring(&self, scenario: &Scenario, settings: Vec<Setting>) -> Result<Task, NoPlan> {
        let (probes, speed) = (self.probes.unwrap_or_default(), self.speed);
        if probes == Probes::Kubelet && speed != Speed::REAL {
            return Err(NoPlan::KubeletInAHurry);
        }
        let experiment = |setting: Setting| {
            let mut policy = setting.policy().map_err(LessonError::from)?;
            policy.spec = at_speed(policy.spec, speed);
            match policy.spec.parse(1, Phase::Spread) {
                Err(error) => Err(NoPlan::TooFast { speed, setting: setting.title(), error }),
                Ok(_) => Ok(Experiment {
                    setting,
                    scenario: scenario.clone(),
                    policy,
                    speed,
                    probes,
                    image: self.image.clone().unwrap_or_else(|| IMAGE.to_owned()),
                    prefix: self.namespace.clone().unwrap_or_else(|| "lesson".to_owned()),
                }),
            }
        };
        let experiments = settings.into_iter().map(experiment).collect::<Result<_, _>>()?;
        Ok(Task::Measure { experiments, probes, runs: self.runs.map_or(1, NonZeroU32::get) })
    }
}

/// Measures all settings at the same time, and adds a row for each that succeeds, in their order; the error is that of
/// the first that does not.
async fn measure(
    experiments: &[Experiment],
    probes: Probes,
    runs: u32,
    stop: &CancellationToken,
    rows: &mut Vec<Comparison>,
) -> Result<(), LessonError> {
    let client = cluster_world::client(probes).await?;
    let bars = MultiProgress::new();
    let all = experiments.iter().map(|experiment| measure_setting(&client, experiment, runs, &bars, stop));
    let mut done = Ok(());
    for row in join_all(all).await {
        match row {
            Ok(row) => rows.extend(row),
            Err(error) => done = done.and(Err(error)),
        }
    }
    done
}

async fn measure_setting(
    client: &Client,
    experiment: &Experiment,
    runs: u32,
    bars: &MultiProgress,
    stop: &CancellationToken,
) -> Result<Option<Comparison>, LessonError> {
    let setting = experiment.setting;
    let model = tables::modelled(&experiment.scenario, &setting.policy()?.spec)?;
    let mut measured = Vec::new();
    for _ in 0..runs {
        let run = cluster_world::measure(client, experiment, bars, stop).await;
        measured.push(run.map_err(|error| LessonError::Run { setting, error: Box::new(error) })?);
    }
    Ok(Figures::median(&measured).map(|measured| Comparison::new(setting, model, measured)))
}
