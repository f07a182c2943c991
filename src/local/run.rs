//! One run: everybody is there before t = 0, then the turns pass.

use std::io;

use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::experiment::Addresses;
use super::keeper::{Keeper, attend};
use super::process::{Process, Program, Role};
use super::replica::Replica;
use super::world::{Senses, World};
use super::{Experiment, LocalError, Log, PacedPolicy};
use crate::engine::{Span, Time};
use crate::fake_app::load::{self, Source};
use crate::model::{Observer, Traffic};
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
    /// What else was counted, until the run was told to stop.
    pub counts: Counts,
    /// How often the policy was edited.
    pub edits: u32,
    /// What became of the requests.
    pub log: Log,
    /// That the figures are off since the machine was busy, if it was.
    pub remark: Option<String>,
}

/// What is only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Questions that were asked and answered.
    pub attempts: u64,
    /// Replicas that were in the pool and that the engine took out.
    pub ejections: u64,
    /// Stuck replicas that no restart healed: those that ended by themselves, and those still stuck at the end.
    pub undetected: u64,
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

impl Run {
    /// What became of the requests of all turns that passed.
    pub fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        self.log.first(self.turns).iter().for_each(|turn| traffic.add(&turn.traffic));
        traffic
    }

    /// Replicas that were out of the pool, summed over the turns; those in which nobody looked count like the others.
    pub fn out_of_pool(&self) -> u64 {
        let looks: Vec<_> = self.log.first(self.turns).iter().filter_map(|turn| turn.look).collect();
        let out: u64 = looks.iter().map(|look| look.out_of_pool as u64).sum();
        out * u64::from(self.turns) / (looks.len() as u64).max(1)
    }
}

/// From the moment that everybody is there to t = 0. A busy machine takes its time to tell everybody.
const LEAD: Span = Span::from_millis(500);
/// Processes that are started at once.
const STARTED_AT_ONCE: usize = 8;

/// Runs an experiment. Each of `edits` is a policy that is in force from then on. Told to stop, it ends early, with
/// what was measured so far. No process is left when this returns.
///
/// The observer is told of a turn in its middle, of short turns only now and then, with the requests that were answered
/// since the one before.
///
/// # Errors
/// If a process cannot be started, or fails, or the load cannot be sent.
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
    let scenario = experiment.script.scenario.clone().at_speed(experiment.speed);
    let stores = Attendant::start(experiment.stores(program)).await?;
    let registry = Attendant::start(experiment.registry(program)).await?;
    let address = |attendant: &Option<Attendant>| attendant.as_ref().map(Attendant::address);
    let addresses = Addresses { stores: address(&stores), registry: address(&registry) };
    let store = stores.as_ref().map(|attendant| attendant.process.address());
    let roles = experiment.replicas(program, &addresses);
    let processes: Vec<_> = stream::iter(&roles).map(Process::start).buffered(STARTED_AT_ONCE).try_collect().await?;

    let clock = Clock::start();
    let start = clock.now() + LEAD;
    for Attendant { process, role } in stores.into_iter().chain(registry) {
        keepers.spawn(attend(process, role.name, timestamp(start), done.clone()));
    }
    let (tell_news, news) = mpsc::unbounded_channel();
    let mut replicas = Vec::new();
    for (replica, (role, process)) in roles.into_iter().zip(processes).enumerate() {
        let (orders, ordered) = mpsc::unbounded_channel();
        replicas.push(Replica::new(replica, process.address(), &scenario, orders));
        let keeper = Keeper { replica, role, start: timestamp(start), orders: ordered, news: tell_news.clone() };
        keepers.spawn(keeper.keep(process));
    }

    let world = World::new(scenario, experiment.policy.clone(), replicas, store, clock, start);
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
