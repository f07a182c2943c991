//! One run: everybody is there before t = 0, then the turns pass.

use std::io;

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::experiment::Addresses;
use super::keeper::{First, Keeper, News, attend};
use super::process::{Process, Program, Role};
use super::replica::Replica;
use super::world::{Senses, World};
use super::{Experiment, LocalError, Log, PacedPolicy};
use crate::engine::{Span, Time};
use crate::fake_app::load::{self, Source};
use crate::model::Observer;
use crate::runtime::{Clock, timestamp};
use crate::scenario::{Opening, Scenario};

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
    let mut keepers = JoinSet::new();
    let done = CancellationToken::new();
    let run = {
        let _done_with_this = done.clone().drop_guard();
        run_with(experiment, program, edits, observer, stop, &mut keepers, &done).await
    };
    // Whom nobody can order any more ends its process.
    while keepers.join_next().await.is_some() {}
    run
}

async fn run_with(
    experiment: &Experiment,
    program: &Program,
    edits: UnboundedReceiver<PacedPolicy>,
    observer: &mut dyn Observer,
    stop: &CancellationToken,
    keepers: &mut JoinSet<Result<(), LocalError>>,
    done: &CancellationToken,
) -> Result<Run, LocalError> {
    let scenario = experiment.scenario.clone().at_speed(experiment.speed);
    let stores = Attendant::start(experiment.stores(program)).await?;
    let registry = Attendant::start(experiment.registry(program)).await?;
    let address = |attendant: &Option<Attendant>| attendant.as_ref().map(Attendant::address);
    let addresses = Addresses { stores: address(&stores), registry: address(&registry) };
    let roles = experiment.replicas(program, &addresses);
    let is_there = |replica: &usize| scenario.joins(*replica).is_none();
    let starting = stream::iter((0..roles.len()).filter(is_there)).map(|replica| Process::start(&roles[replica]));
    let processes: Vec<_> = starting.buffered(STARTED_AT_ONCE).try_collect().await?;

    let clock = Clock::start();
    let start = clock.now() + LEAD;
    for Attendant { process, role } in stores.into_iter().chain(registry) {
        keepers.spawn(attend(process, role.name, timestamp(start), done.clone()));
    }
    let (tell_news, news) = mpsc::unbounded_channel();
    let mut processes = processes.into_iter();
    let mut replicas = Vec::new();
    for (number, role) in roles.into_iter().enumerate() {
        let joins = scenario.joins(number).map(|joins| clock.instant(start + joins.since(Time::ZERO)));
        let first = joins.map(First::Joins).or_else(|| processes.next().map(|process| First::Warm(Box::new(process))));
        let Some(first) = first else { continue };
        replicas.push(keep(number, role, first, timestamp(start), tell_news.clone(), keepers));
    }

    let world = World::new(scenario, experiment.policy.clone(), replicas, clock, start);
    let (tell_line, lines) = mpsc::unbounded_channel();
    let (load, pool) = (experiment.load(timestamp(start), addresses), Source::Followed(world.pool()));
    let told = stop.child_token();
    let _ended_with_this = told.clone().drop_guard();
    let load = tokio::spawn(async move {
        load::run(load, pool, &told, move |line| tell_line.send(line.clone()).map_err(io::Error::other)).await
    });
    world.run(Senses { news, edits, lines, keepers, load }, observer, stop).await
}

/// A process that others use.
struct Attendant {
    role: Role,
    process: Process,
}

impl Attendant {
    async fn start(role: Option<Role>) -> Result<Option<Self>, LocalError> {
        let Some(role) = role else { return Ok(None) };
        let process = Process::start(&role).await?;
        Ok(Some(Self { role, process }))
    }

    fn address(&self) -> String {
        self.process.address().to_string()
    }
}

fn keep(
    replica: usize,
    role: Role,
    first: First,
    start: Timestamp,
    news: UnboundedSender<News>,
    keepers: &mut JoinSet<Result<(), LocalError>>,
) -> Replica {
    let (orders, ordered) = mpsc::unbounded_channel();
    let held = match &first {
        First::Warm(process) => Replica::warm(replica, process.address(), orders),
        First::Joins(_) => Replica::absent(replica, orders),
    };
    keepers.spawn(Keeper { replica, role, start, orders: ordered, news }.keep(first));
    held
}
