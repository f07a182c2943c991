//! Who gets a request.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    counter: Mutex<u64>,
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
    /// Who was in the pool in the beginning, wherever they are now.
    Fixed(Fleet, watch::Receiver<Fleet>),
    /// Whom the registry lists, as the fleet has them, if it does: those in the pool, wherever they are now.
    Registry {
        directory: Directory,
        /// How long an answer may take. Whoever gets none goes by the list before, if there is one.
        patience: Duration,
        list: Mutex<Resolver<Member>>,
        clock: Clock,
        fleet: watch::Receiver<Fleet>,
    },
}

impl Finder {
    /// Finds members of a fleet, or whom the route says instead, within the timeout of a request.
    pub fn new(route: Route, rotation: Rotation, timeout: Duration, fleet: watch::Receiver<Fleet>) -> Self {
        let route = match route {
            Route::Address(address) => Way::Address(address),
            Route::Endpoints => Way::Pool(fleet),
            Route::Fixed => {
                let first = fleet.borrow().clone();
                Way::Fixed(first, fleet)
            }
            Route::Registry { address, cache } => {
                let resolve = cache.map_or(Resolve::Registry, Resolve::Cached);
                let list = Mutex::new(Resolver::new(resolve, Vec::new()));
                Way::Registry { directory: Directory(address), patience: timeout, list, clock: Clock::start(), fleet }
            }
        };
        Self { route, rotation, counter: Mutex::default() }
    }

    /// Whom a request goes to; none if nobody is there.
    pub async fn find(&self, due: &Due) -> Option<Target> {
        match &self.route {
            Way::Address(address) => Some(Target { pod: None, address: address.clone() }),
            Way::Pool(fleet) => self.pick(due, |place| Some(Target::from(fleet.borrow().pick(place)?))),
            Way::Fixed(first, fleet) => self.pick(due, |place| {
                let (known, fleet) = (first.pick(place)?, fleet.borrow());
                Some(Target::from(fleet.member(&known.pod).unwrap_or(known)))
            }),
            Way::Registry { directory, patience, list, clock, fleet } => {
                if locked(list).is_due(clock.now())
                    && let Ok(entries) = directory.list(*patience).await
                {
                    let member =
                        |entry: Entry| Member { pod: entry.name, address: entry.address.to_string(), ready: true };
                    locked(list).take(entries.into_iter().map(member).collect(), clock.now());
                }
                let (list, fleet) = (locked(list), fleet.borrow());
                let listed = list.list().iter().map(|listed| fleet.member(&listed.pod).unwrap_or(listed));
                let pool: Vec<_> = listed.filter(|member| member.ready).collect();
                self.pick(due, |place| {
                    let size = u64::try_from(pool.len()).ok().filter(|size| *size > 0)?;
                    pool.get(usize::try_from(place % size).ok()?).map(|member| Target::from(*member))
                })
            }
        }
    }

    /// A batch job counts for the rotation only once it was accepted.
    pub fn accepted(&self, due: &Due) {
        if due.kind == RequestKind::Batch {
            *locked(&self.counter) += 1;
        }
    }

    fn pick(&self, due: &Due, at: impl FnOnce(u64) -> Option<Target>) -> Option<Target> {
        let mut counter = locked(&self.counter);
        let found = at(match self.rotation {
            Rotation::EachTurn => u64::from(due.n),
            Rotation::Continuous => *counter,
        })?;
        *counter += u64::from(due.kind != RequestKind::Batch);
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

#[cfg(test)]
mod tests {
    use hyper::Method;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::runtime::request;

    /// Whom a request goes to by a registry that accepts connections and answers nothing, after it once listed `before`.
    async fn found_after(before: Vec<Member>) -> Option<Target> {
        let registry = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = registry.local_addr().unwrap().to_string();
        let way = Way::Registry {
            directory: Directory(address.clone()),
            patience: Duration::from_millis(50),
            list: Mutex::new(Resolver::new(Resolve::Registry, before)),
            clock: Clock::start(),
            fleet: watch::channel(Fleet::default()).1,
        };
        let finder = Finder { route: way, rotation: Rotation::EachTurn, counter: Mutex::default() };
        let due = Due { turn: 0, n: 0, kind: RequestKind::Plain, at: Instant::now() };
        tokio::select! {
            biased;
            found = finder.find(&due) => found,
            _ = request::ask(Method::GET, &address, "/list", &[]) => panic!("it waits for as long as those who have no timeout"),
        }
    }

    #[tokio::test]
    async fn a_registry_that_does_not_answer_in_time_leaves_the_list_before_in_force() {
        let known = Member { pod: "r0".to_owned(), address: "127.0.0.1:1".to_owned(), ready: true };
        assert_eq!(found_after(vec![known]).await.unwrap().pod.as_deref(), Some("r0"));
        assert!(found_after(Vec::new()).await.is_none());
    }
}
