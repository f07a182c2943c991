//! Requests that go by a list of addresses, while replicas beat, die and join. Nobody judges here: an address is on the
//! list, or it is not.
//!
//! Within a turn, in this order: beats, in the order of the replicas; those who leave in an orderly way; requests. A
//! beat that is due in the very turn of a death is still sent, and a request of that turn already fails.

use std::collections::{BTreeMap, BTreeSet};

use super::addresses::Addresses;
use super::deaths::Death;
use crate::engine::{Span, Time};
use crate::scenario::{Condition, Opening, Rotation, Scenario, Store};

pub use super::beats::Heartbeat;

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

struct World<'a> {
    scenario: &'a Scenario,
    addresses: Addresses,
    counter: u64,
    last_request: Option<Time>,
    /// The last request to a dead replica, by the replica and the time of its death.
    last_to_dead: BTreeMap<(usize, Time), Time>,
    run: Discovery,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, heartbeat: Option<Heartbeat>) -> Self {
        Self {
            scenario,
            addresses: Addresses::new(scenario, heartbeat),
            counter: 0,
            last_request: None,
            last_to_dead: BTreeMap::new(),
            run: Discovery::default(),
        }
    }

    fn run(mut self) -> Discovery {
        let scenario = self.scenario;
        for turn in scenario.numbers() {
            let now = scenario.begin_of(turn);
            self.addresses.hear(now, scenario.replicas(), |replica| condition(scenario, replica, now));
            self.send(turn, now);
        }
        let listed = self.addresses.list().iter().copied().collect();
        let deaths = self.addresses.deaths().iter();
        self.run.windows = deaths.map(|(replica, death)| self.window(replica, death, &listed)).collect();
        self.run
    }

    fn send(&mut self, turn: u32, now: Time) {
        let requests = self.requests(turn, now);
        if requests == 0 {
            return;
        }
        self.addresses.resolve(now);
        self.last_request = Some(now);
        let list = self.addresses.list();
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
            if let Some(death) = self.addresses.deaths().at(replica, now) {
                self.run.to_dead += share;
                self.last_to_dead.insert((replica, death.from), now);
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

    fn window(&self, replica: usize, death: &Death, listed: &BTreeSet<usize>) -> Window {
        if self.last_request.is_some_and(|last| death.covers(last)) && listed.contains(&replica) {
            return Window::Manual;
        }
        let last = self.last_to_dead.get(&(replica, death.from));
        Window::Noticed(last.map_or(Span::ZERO, |last| (*last + self.scenario.turn()).since(death.from)))
    }
}

/// What is true of a replica that nobody restarts.
fn condition(scenario: &Scenario, replica: usize, now: Time) -> Condition {
    let opened = scenario.joins(replica).into_iter().chain(scenario.reopenings(replica));
    let opening = opened.filter(|opened| *opened <= now).max().map_or(Opening::Warm, Opening::Planned);
    scenario.condition(replica, opening, now)
}
