//! The command line of the lesson.

use std::num::NonZeroU32;

use clap::ValueEnum;
use indicatif::MultiProgress;
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::local_world::Trials;
use super::settings::{self, Setting, at_speed};
use super::tables::{self, Comparison};
use crate::engine::Phase;
use crate::lesson::cluster_world::{self, Experiment, Probes};
use crate::lesson::measured::Measured;
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Delivery, Figures};
use crate::scenario::{Scenario, Speed};

/// The image of the fake app that is built from these sources.
const IMAGE: &str = concat!("localhost/fake-app:", env!("CARGO_PKG_VERSION"));

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
    /// Who probes, on the cluster [default: own]
    #[arg(long, value_enum)]
    probes: Option<Probes>,
    /// Print a published table, out of the model
    #[arg(long, value_enum)]
    table: Option<PublishedTable>,
    /// Outside the model, run each setting so often and take the median of each column [default: 1]
    #[arg(long)]
    runs: Option<NonZeroU32>,
    /// On the cluster, begin the names of the namespaces with this [default: lesson]
    #[arg(long, value_name = "PREFIX")]
    namespace: Option<String>,
    /// On the cluster, the image of the fake app [default: localhost/fake-app:VERSION]
    #[arg(long)]
    image: Option<String>,
    #[command(flatten)]
    delivery: Delivery,
}

/// A world that a lesson can be run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum World {
    /// Simulated replicas in logical time
    Model,
    /// Processes on this machine
    Local,
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
    delivery: Delivery,
    task: Task,
}

#[derive(Debug)]
enum Task {
    Settings(Scenario, Vec<Setting>),
    Sweep(Scenario),
    OnProcesses(Trials),
    OnCluster { experiments: Vec<Experiment>, probes: Probes, runs: u32 },
}

impl Plan {
    /// Does it, and prints the table on standard output; of a lesson that fails or is told to stop, what was measured
    /// before. Told to stop, it cleans up first.
    pub async fn run(self, stop: &CancellationToken) -> Result<(), LessonError> {
        let measured = match self.task {
            Task::Settings(scenario, settings) => {
                return Ok(self.delivery.deliver(&tables::settings(&scenario, &settings)?)?);
            }
            Task::Sweep(scenario) => return Ok(self.delivery.deliver(&tables::sweep(&scenario)?)?),
            Task::OnProcesses(trials) => trials.measure(stop).await,
            Task::OnCluster { experiments, probes, runs } => measure_on_cluster(&experiments, probes, runs, stop).await,
        };
        measured.show(|rows| Ok(self.delivery.deliver(&tables::comparison(rows)?)?))
    }
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let scenario = settings::scenario().map_err(LessonError::from)?;
        let settings = self.setting.map_or_else(|| Setting::ALL.to_vec(), |setting| vec![setting]);
        let task = match (self.world, self.table) {
            (Some(World::Cluster), Some(_)) => return Err(NoPlan::TableElsewhere("cluster")),
            (Some(World::Local), Some(_)) => return Err(NoPlan::TableElsewhere("local")),
            (Some(World::Cluster), None) => self.on_cluster(&scenario, settings)?,
            (Some(World::Local) | None, None) => self.on_processes(&scenario, &settings)?,
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
        self.refuse_what_is_for_the_cluster()?;
        if self.runs.is_some() {
            return Err(NoPlan::NothingToMeasure);
        }
        match table {
            Some(PublishedTable::Sweep) if self.setting.is_some() => Err(NoPlan::SettingOfSweep),
            Some(PublishedTable::Sweep) => Ok(Task::Sweep(scenario)),
            Some(PublishedTable::Settings) | None => Ok(Task::Settings(scenario, settings)),
        }
    }

    fn refuse_what_is_for_the_cluster(&self) -> Result<(), NoPlan> {
        let given = [
            ("--probes", self.probes.is_some()),
            ("--namespace", self.namespace.is_some()),
            ("--image", self.image.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(NoPlan::OnlyOnCluster(option)),
            None => Ok(()),
        }
    }

    fn on_processes(&self, scenario: &Scenario, settings: &[Setting]) -> Result<Task, NoPlan> {
        self.refuse_what_is_for_the_cluster()?;
        let speed = self.speed.unwrap_or(Speed::TEN);
        Ok(Task::OnProcesses(Trials::new(settings, scenario, speed, self.runs())?))
    }

    fn on_cluster(&self, scenario: &Scenario, settings: Vec<Setting>) -> Result<Task, NoPlan> {
        let (probes, speed) = (self.probes.unwrap_or_default(), self.speed.unwrap_or(Speed::REAL));
        if probes == Probes::Kubelet && speed != Speed::REAL {
            return Err(NoPlan::KubeletInAHurry);
        }
        let experiment = |setting: Setting| {
            let mut policy = setting.policy().map_err(LessonError::from)?;
            policy.spec = at_speed(policy.spec, speed);
            match policy.spec.parse(1, Phase::Spread) {
                Err(error) => Err(NoPlan::TooFast { speed, setting: setting.title().to_owned(), error }),
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
        Ok(Task::OnCluster { experiments, probes, runs: self.runs() })
    }

    fn runs(&self) -> u32 {
        self.runs.map_or(1, NonZeroU32::get)
    }
}

async fn measure_on_cluster(
    experiments: &[Experiment],
    probes: Probes,
    runs: u32,
    stop: &CancellationToken,
) -> Measured<Comparison> {
    let client = match cluster_world::client(probes).await {
        Ok(client) => client,
        Err(error) => return Measured::nothing(error.into()),
    };
    let bars = MultiProgress::new();
    Measured::of(experiments.iter().map(|experiment| measure_setting(&client, experiment, runs, &bars, stop))).await
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
    Ok(Figures::median(&measured).map(|measured| Comparison::new(setting.title().to_owned(), model, measured)))
}
