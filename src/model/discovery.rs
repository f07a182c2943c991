//! Requests that go by a list of addresses, while replicas beat, die and join. Nobody judges here: an address is on the
//! list, or it is not.
//!
//! Within a turn, in this order: beats, in the order of the replicas; those who leave in an orderly way; requests. A
//! beat that is due in the very turn of a death is still sent, and a request of that turn already fails.

use std::num::NonZeroU32;

use crate::engine::{Span, Time};
use crate::registry::{Registry, Resolver};
use crate::scenario::{Leave, Opening, Rotation, Scenario, Stop, Store, TrueState};

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Requests to a replica while it was dead.
    pub to_dead: u64,
    /// Requests to a replica that has joined.
    pub to_new: u64,
    /// Requests that found nobody on the list.
    pub nowhere: u64,
    /// What it took to notice each death, in the order of the replicas, and for each in the order of time.
    pub windows: Vec<Window>,
}

/// For how long a dead replica's address was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Window {
    /// From the death to the end of the turn with the last request to it; zero if there was none.
    Noticed(Span),
    /// To the end: it was still on the list of the last request, and somebody has to take it out.
    Manual,
}

/// How replicas say that they are there. A beat between two turns is sent in the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// From one beat to the next; above zero.
    pub every: Span,
    /// For how long an entry lives after its last beat.
    pub time_to_live: Span,
}

/// Runs a scenario from its first turn to its last.
pub fn run(scenario: &Scenario) -> Discovery {
    World::new(scenario, Heartbeat::of(scenario)).run()
}

/// The same with another heartbeat.
pub fn run_with(scenario: &Scenario, heartbeat: Heartbeat) -> Discovery {
    World::new(scenario, Some(heartbeat)).run()
}

impl Discovery {
    /// The longest of all windows; no time at all if nobody died.
    pub fn window(&self) -> Window {
        self.windows.iter().copied().max().unwrap_or(Window::Noticed(Span::ZERO))
    }
}

impl Heartbeat {
    /// The scenario's, if it has a registry.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let registry = scenario.registry()?;
        let turns = |turns: NonZeroU32| scenario.turn() * u64::from(turns.get());
        Some(Self { every: turns(registry.beat), time_to_live: turns(registry.time_to_live) })
    }

    fn is_due(self, now: Time, turn: Span) -> bool {
        now.as_nanos().checked_rem(self.every.as_nanos()).is_none_or(|late| late < turn.as_nanos())
    }
}

struct World<'a> {
    scenario: &'a Scenario,
    heartbeat: Option<Heartbeat>,
    replicas: Vec<Vec<Death>>,
    /// Who takes its own entry out and when, the latest first.
    leaving: Vec<(Time, usize)>,
    registry: Registry<usize>,
    resolver: Resolver<usize>,
    counter: u64,
    last_request: Option<Time>,
    run: Discovery,
}

/// A replica is dead: the stops that make it so overlap or touch.
struct Death {
    from: Time,
    until: Option<Time>,
    leave: Leave,
    last_request: Option<Time>,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, heartbeat: Option<Heartbeat>) -> Self {
        let replicas: Vec<_> = (0..scenario.replicas()).map(|replica| deaths(scenario.stops(replica))).collect();
        let graceful = |death: &&Death| death.leave == Leave::Graceful;
        let leaving = replicas
            .iter()
            .enumerate()
            .flat_map(|(replica, deaths)| deaths.iter().filter(graceful).map(move |death| (death.from, replica)));
        let mut leaving: Vec<_> = leaving.collect();
        leaving.sort_unstable_by(|a, b| b.cmp(a));
        let resolve = scenario.resolve().map(|turns| scenario.turn() * u64::from(turns.get()));
        let written_down = (0..replicas.len()).filter(|replica| scenario.joins(*replica).is_none()).collect();
        Self {
            scenario,
            heartbeat,
            replicas,
            leaving,
            registry: Registry::new(heartbeat.map_or(Span::ZERO, |heartbeat| heartbeat.time_to_live)),
            resolver: Resolver::new(resolve, written_down),
            counter: 0,
            last_request: None,
            run: Discovery::default(),
        }
    }

    fn run(mut self) -> Discovery {
        for turn in self.scenario.numbers() {
            let now = self.scenario.begin_of(turn);
            self.beat(now);
            while let Some((_, replica)) = self.leaving.pop_if(|(at, _)| *at <= now) {
                self.registry.leave(&replica);
            }
            self.send(turn, now);
        }
        let deaths = self.replicas.iter().enumerate();
        let deaths = deaths.flat_map(|(replica, deaths)| deaths.iter().map(move |death| (replica, death)));
        self.run.windows = deaths.map(|(replica, death)| self.window(replica, death)).collect();
        self.run
    }

    fn beat(&mut self, now: Time) {
        if self.heartbeat.is_some_and(|heartbeat| heartbeat.is_due(now, self.scenario.turn())) {
            for replica in 0..self.replicas.len() {
                if self.beats(replica, now) {
                    self.registry.beat(replica, now);
                }
            }
        }
    }

    /// Whether a replica is up, or was until it died in this very turn.
    fn beats(&self, replica: usize, now: Time) -> bool {
        let opened = self.scenario.joins(replica).into_iter().chain(self.scenario.reopenings(replica));
        let opening = opened.filter(|opened| *opened <= now).max().map_or(Opening::Warm, Opening::Planned);
        let condition = self.scenario.condition(replica, opening, now);
        let dies = death_at(&self.replicas[replica], now).is_some_and(|(_, death)| death.from == now);
        let down = [TrueState::Starting, TrueState::Stuck, TrueState::Silent];
        (dies || !condition.is(TrueState::Stopped)) && !down.into_iter().any(|state| condition.is(state))
    }

    fn send(&mut self, turn: u32, now: Time) {
        let requests = self.requests(turn, now);
        if requests == 0 {
            return;
        }
        if self.resolver.is_due(now) {
            self.resolver.take(self.registry.resolve(now), now);
        }
        self.last_request = Some(now);
        let list = self.resolver.list();
        let Some(size) = Some(list.len() as u64).filter(|size| *size > 0) else {
            self.run.nowhere += requests;
            return;
        };
        if self.scenario.rotation() == Rotation::EachTurn {
            self.counter = 0;
        }
        let next = usize::try_from(self.counter % size).unwrap_or_default();
        for (place, &replica) in (0..requests.min(size)).zip(list[next..].iter().chain(list)) {
            let share = requests / size + u64::from(place < requests % size);
            if self.scenario.joins(replica).is_some() {
                self.run.to_new += share;
            }
            if let Some((death, _)) = death_at(&self.replicas[replica], now) {
                self.run.to_dead += share;
                self.replicas[replica][death].last_request = Some(now);
            }
        }
        self.counter += requests;
    }

    /// The requests of a turn. A batch job that is refused because the billing store is down goes nowhere.
    fn requests(&self, turn: u32, now: Time) -> u64 {
        let requests = self.scenario.requests(turn);
        let batch = if self.scenario.stores(now).up(Store::Billing) { requests.batch } else { 0 };
        [requests.plain, requests.read, requests.write, batch].map(u64::from).iter().sum()
    }

    fn window(&self, replica: usize, death: &Death) -> Window {
        let is_dead = |now: Time| death.from <= now && death.until.is_none_or(|until| now < until);
        if self.last_request.is_some_and(is_dead) && self.resolver.list().contains(&replica) {
            return Window::Manual;
        }
        let last = death.last_request.map(|last| (last + self.scenario.turn()).since(death.from));
        Window::Noticed(last.unwrap_or_default())
    }
}

fn deaths(stops: impl Iterator<Item = Stop>) -> Vec<Death> {
    let mut deaths: Vec<Death> = Vec::new();
    for stop in stops {
        match deaths.last_mut() {
            Some(death) if death.until.is_none_or(|until| stop.from <= until) => {
                death.until = death.until.zip(stop.until).map(|(one, other)| one.max(other));
            }
            _ => deaths.push(Death { from: stop.from, until: stop.until, leave: stop.leave, last_request: None }),
        }
    }
    deaths
}

/// The death that a replica is in, and its place among its deaths.
fn death_at(deaths: &[Death], now: Time) -> Option<(usize, &Death)> {
    let place = deaths.partition_point(|death| death.from <= now).checked_sub(1)?;
    let death = &deaths[place];
    death.until.is_none_or(|until| now < until).then_some((place, death))
}
