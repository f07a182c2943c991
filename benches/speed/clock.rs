//! The only clock of the benchmarks.

use std::time::{Duration, Instant};

/// How long each measurement goes on.
const WINDOW: Duration = Duration::from_secs(3);

/// Calls `work` again and again for the window, after a tenth of it as a warm-up; returns the mean time of a call.
pub fn mean(mut work: impl FnMut()) -> Duration {
    repeat(WINDOW / 10, &mut work);
    repeat(WINDOW, &mut work)
}

/// Calls `work` once; returns how long that took.
pub fn once(work: impl FnOnce()) -> Duration {
    let begin = now();
    work();
    begin.elapsed()
}

fn repeat(window: Duration, work: &mut impl FnMut()) -> Duration {
    let begin = now();
    let mut calls = 0;
    while begin.elapsed() < window {
        work();
        calls += 1;
    }
    begin.elapsed() / calls
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}
