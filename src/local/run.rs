//! One run: everybody is there before t = 0, then the turns pass.

use std::io;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::keeper::Keeper;
use super::process::{Process, Program, Role};
use super::replica::{Replica, name};
use super::world::{Senses, World};
use super::{LocalError, Log, PacedPolicy};
use crate::engine::{Span, Time};
use crate::fake_app::load::{self, Connections, Load, Plan, Rate, Route, Source};
use crate::model::Observer;
use crate::runtime::{Clock, timestamp};
use crate::scenario::{Opening, Scenario, Speed};

/// What is run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The scenario, as it is written.
    pub scenario: Scenario,
    /// Its text, for the fake app.
    pub script: String,
    /// The policy that is in force from the beginning.
    pub policy: PacedPolicy,
    /// How fast everything runs.
    pub speed: Speed,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Run {
    /// The scenario, as fast as it ran.
    pub scenario: Scenario,
    /// The turns that passed: all of them, unless the run was told to stop.
    pub turns: u32,
    /// The restarts in those turns, in their order.
    pub restarts: Vec<Restart>,
    /// How often the policy was edited.
    pub edits: u32,
    /// What became of the requests.
    pub log: Log,
}

/// A restart that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Which replica.
    pub replica: usize,
    /// When the process was opened that it ended.
    pub opening: Opening,
    /// When, in the scenario's time.
    pub at: Time,
}

/// From the moment that everybody is there to t = 0.
const LEAD: Span = Span::from_millis(200);
/// Processes that are started at once.
const STARTED_AT_ONCE: usize = 8;
/// How long a request may take. No speed shortens it.
const TIMEOUT: Span = Span::from_secs(1);

/// Runs an experiment. Each of `edits` is a policy that is in force from then on. Told to stop, it ends early, with
/// what was measured so far. No process is left when this returns.
///
/// The observer is told that a turn is over when it is half over, with the requests that were answered since the one
/// before.
///
/// # Errors
/// If a process cannot be started, or fails, or not every request could be sent.
pub async fn run(
    experiment: &Experiment,
    program: &Program,
    edits: UnboundedReceiver<PacedPolicy>,
    observer: &mut dyn Observer,
    stop: &CancellationToken,
) -> Result<Run, LocalError> {
    let scenario = experiment.scenario.clone().at_speed(experiment.speed);
    let roles = experiment.roles(program);
    let processes = stream::iter(&roles).map(Process::start).buffered(STARTED_AT_ONCE).try_collect::<Vec<_>>().await?;

    let clock = Clock::start();
    let start = clock.now() + LEAD;
    let (tell_news, news) = mpsc::unbounded_channel();
    let mut keepers = JoinSet::new();
    let mut replicas = Vec::new();
    for (replica, (role, process)) in roles.into_iter().zip(processes).enumerate() {
        let (orders, ordered) = mpsc::unbounded_channel();
        replicas.push(Replica::warm(replica, process.address(), orders));
        let news = tell_news.clone();
        let keeper = Keeper { replica, role, start: timestamp(start), orders: ordered, news };
        keepers.spawn(keeper.keep(process));
    }

    let world = World::new(scenario, experiment.policy.clone(), replicas, clock, start);
    let (tell_line, lines) = mpsc::unbounded_channel();
    let pool = Source::Followed(world.pool());
    let (load, told) = (experiment.load(timestamp(start)), stop.child_token());
    let _ended_with_this = told.clone().drop_guard();
    let load = tokio::spawn(async move {
        load::run(load, pool, &told, move |line| tell_line.send(line.clone()).map_err(io::Error::other)).await
    });
    let senses = Senses { news, edits, lines, keepers: &mut keepers, load };
    let run = world.run(senses, observer, stop).await;
    while keepers.join_next().await.is_some() {}
    run
}

impl Experiment {
    /// What the processes are, in the order of the replicas.
    fn roles(&self, program: &Program) -> Vec<Role> {
        let script: Arc<str> = self.script.as_str().into();
        let role = |replica: usize| Role {
            program: program.clone(),
            name: name(replica),
            arguments: vec![
                "serve".to_owned(),
                "--script=-".to_owned(),
                "--listen=127.0.0.1:0".to_owned(),
                format!("--replica={replica}"),
                format!("--speed={}", self.speed),
            ],
            script: script.clone(),
        };
        (0..self.scenario.replicas()).map(role).collect()
    }

    fn load(&self, start: Timestamp) -> Load {
        let turn = self.scenario.turn();
        let rate = Rate { requests: self.scenario.requests(self.scenario.requests_from()).plain, each: turn };
        Load {
            plan: Plan { start: Some(start), turn, turns: self.scenario.turns(), rate, speed: self.speed },
            route: Route::Endpoints,
            connections: Connections::OnePerRequest,
            timeout: TIMEOUT.into(),
        }
    }
}
