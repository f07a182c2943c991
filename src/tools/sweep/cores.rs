//! Work on many things that do not depend on each other, on all cores.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::{panic, thread};

/// Does the work on so many things in even shares, one for each core, and returns what came of the shares, in their order.
pub fn on_all_cores<T: Send>(count: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = count.div_ceil(cores).max(1);
    let work = &work;
    thread::scope(|scope| {
        let shares = (0..count).step_by(share).map(|from| from..count.min(from + share));
        let threads: Vec<_> = shares.map(|share| scope.spawn(move || work(share))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))).collect()
    })
}
