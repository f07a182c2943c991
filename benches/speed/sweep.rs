//! A sweep of the lesson: a hundred thousand policies, each parsed and run, on two threads.

use std::hint::black_box;
use std::thread;

use probe_policy::api::{Duration, ProbePolicySpec};
use probe_policy::lesson::Setting;
use probe_policy::scenario::Scenario;

use super::lesson;

const POLICIES: u32 = 100_000;
const THREADS: u32 = 2;

/// Prints how long all of them take.
pub fn print() {
    let scenario = lesson::scenario();
    let took = super::clock::once(|| {
        thread::scope(|threads| {
            for first in 0..THREADS {
                let scenario = &scenario;
                threads.spawn(move || run(scenario, (first..POLICIES).step_by(THREADS as usize)));
            }
        });
    });
    println!("sweep, {POLICIES} policies of the lesson on {THREADS} threads: {:.2} s", took.as_secs_f64());
}

fn run(scenario: &Scenario, numbers: impl Iterator<Item = u32>) {
    let mut spec = Setting::PlusStartup.policy().unwrap().spec;
    for number in numbers {
        vary(&mut spec, number);
        black_box(lesson::run(scenario, &lesson::parse(&spec)));
    }
}

/// Five fields from 1 to 10, a digit of the number each.
fn vary(spec: &mut ProbePolicySpec, number: u32) {
    let value = |place: u32| 1 + number / 10u32.pow(place) % 10;
    let (liveness, readiness) = (spec.liveness.as_mut().unwrap(), spec.readiness.as_mut().unwrap());
    liveness.period = Duration::from_secs(value(0).into());
    liveness.failure_threshold = value(1) as i32;
    readiness.period = Duration::from_secs(value(2).into());
    readiness.failure_threshold = value(3) as i32;
    spec.startup.as_mut().unwrap().failure_threshold = value(4) as i32;
}
