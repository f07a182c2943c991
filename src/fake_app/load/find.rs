//! Who gets a request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::Route;
use super::fleet::{Fleet, Member};
use super::plan::Due;
use crate::fake_app::registry::{Directory, Entry};
use crate::registry::{Resolve, Resolver};
use crate::runtime::Clock;
use crate::scenario::{RequestKind, Rotation};

/// Finds somebody for each request.
pub(super) struct Finder {
    route: Way,
    rotation: Rotation,
    /// Requests that have found somebody.
    counter: AtomicU64,
}

/// Where a request goes.
pub(super) struct Target {
    /// The pod, if it is known beforehand.
    pub pod: Option<String>,
    /// Host and port.
    pub address: String,
}

enum Way {
    Address(String),
    Pool(watch::Receiver<Fleet>),
    Registry { directory: Directory, list: Mutex<Resolver<Member>>, clock: Clock },
}

impl Finder {
    /// Finds members of a fleet, or whom the route says instead.
    pub fn new(route: Route, rotation: Rotation, fleet: watch::Receiver<Fleet>) -> Self {
        let route = match route {
            Route::Address(address) => Way::Address(address),
            Route::Endpoints => Way::Pool(fleet),
            Route::Fixed => Way::Pool(watch::channel(fleet.borrow().clone()).1),
            Route::Registry { address, cache } => {
                let resolve = cache.map_or(Resolve::Registry, Resolve::Cached);
                let list = Mutex::new(Resolver::new(resolve, Vec::new()));
                Way::Registry { directory: Directory(address), list, clock: Clock::start() }
            }
        };
        Self { route, rotation, counter: AtomicU64::new(0) }
    }

    /// Whom a request goes to; none if nobody is there.
    pub async fn find(&self, due: &Due) -> Option<Target> {
        match &self.route {
            Way::Address(address) => Some(Target { pod: None, address: address.clone() }),
            Way::Pool(fleet) => self.pick(due, |place| Some(Target::from(fleet.borrow().pick(place)?))),
            Way::Registry { directory, list, clock } => {
                if locked(list).is_due(clock.now())
                    && let Ok(entries) = directory.list().await
                {
                    let member =
                        |entry: Entry| Member { pod: entry.name, address: entry.address.to_string(), ready: true };
                    locked(list).take(entries.into_iter().map(member).collect(), clock.now());
                }
                let list = locked(list);
                self.pick(due, |place| {
                    let size = u64::try_from(list.list().len()).ok().filter(|size| *size > 0)?;
                    list.list().get(usize::try_from(place % size).ok()?).map(Target::from)
                })
            }
        }
    }

    /// A batch job counts for the rotation only once it was accepted.
    pub fn accepted(&self, due: &Due) {
        if due.kind == RequestKind::Batch {
            self.counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn pick(&self, due: &Due, at: impl FnOnce(u64) -> Option<Target>) -> Option<Target> {
        let place = match self.rotation {
            Rotation::EachTurn => u64::from(due.n),
            Rotation::Continuous => self.counter.load(Ordering::Relaxed),
        };
        let found = at(place)?;
        if due.kind != RequestKind::Batch {
            self.counter.fetch_add(1, Ordering::Relaxed);
        }
        Some(found)
    }
}

impl From<&Member> for Target {
    fn from(member: &Member) -> Self {
        Self { pod: Some(member.pod.clone()), address: member.address.clone() }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
