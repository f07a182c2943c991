//! The policies of a space, run on all cores.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{self, Sender};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::space::Space;
use crate::tools::outcome::Outcome;

/// How often people are shown how far it is.
const TICK: Duration = Duration::from_millis(100);

/// The policies of a space that were run, in their order, with what came of them.
pub type Rows = Vec<(usize, Outcome)>;

/// Runs every policy. Told to stop, returns those that are done and does not wait for those that are running.
pub async fn run(space: Arc<Space>, stop: &CancellationToken) -> Rows {
    let count = space.len();
    let rows = std::iter::repeat_with(OnceLock::new).take(count).collect();
    let shared = Arc::new(Shared { space, rows, next: AtomicUsize::new(0), done: AtomicUsize::new(0) });
    let (working, mut finished) = mpsc::channel(1);
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    for _ in 0..cores.min(count) {
        let (shared, working) = (shared.clone(), working.clone());
        thread::spawn(move || shared.work(working));
    }
    drop(working);
    let mut progress = Progress::new(count);
    let mut tick = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            _ = finished.recv() => break,
            () = stop.cancelled() => break,
            _ = tick.tick() => progress.show(shared.done.load(Ordering::Relaxed)),
        }
    }
    // Whoever still works finds nothing more to take.
    shared.next.store(count, Ordering::Relaxed);
    let done = |(number, row): (usize, &OnceLock<Outcome>)| Some((number, row.get()?.clone()));
    shared.rows.iter().enumerate().filter_map(done).collect()
}

/// What the threads share.
struct Shared {
    space: Arc<Space>,
    rows: Vec<OnceLock<Outcome>>,
    /// The next policy that nobody has taken.
    next: AtomicUsize,
    /// How many are done.
    done: AtomicUsize,
}

impl Shared {
    /// Runs policies until none is left. That the sender is dropped tells the end, also that of a thread that panics.
    fn work(&self, _working: Sender<Infallible>) {
        let mut spec = self.space.base().clone();
        while let number = self.next.fetch_add(1, Ordering::Relaxed)
            && let Some(row) = self.rows.get(number)
        {
            // The space has checked every policy. One that could not be run nevertheless would be told as missing.
            if let Ok(run) = self.space.run(number, &mut spec) {
                let _ = row.set(Outcome::from(&run));
            }
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}
