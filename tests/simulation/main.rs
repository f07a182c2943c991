//! Deterministic simulation of the engine in a hostile world: answers are lost, late and in any order, watches are cut,
//! controllers are killed, frozen and succeeded, clocks are stepped, pods come and go, and policies are edited, all by
//! chance from a seed. After every step the engine is held against a naive model and against what must always hold.
//! `docs/simulation.md` says more.
#![expect(clippy::wildcard_enum_match_arm, reason = "a test; it looks at some effects of many")]

mod beats;
mod cluster;
mod controller;
mod coverage;
mod edits;
mod invariants;
mod ledger;
mod limits;
mod random;
mod reference;
mod world;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::thread;

use coverage::Coverage;
use world::World;

/// What `SIMULATION_WORLDS` may say otherwise.
const WORLDS: u64 = 640;
const STEPS: u64 = 1_600;

#[test]
fn a_million_steps_break_no_invariant_and_leave_nothing_out() {
    if let Some(seed) = number("SIMULATION_SEED") {
        println!("{}", run(seed..seed + 1, true));
        return;
    }
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let worlds = number("SIMULATION_WORLDS").unwrap_or(WORLDS);
    let share = |n| worlds * n / threads..worlds * (n + 1) / threads;
    let reached = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|n| scope.spawn(move || run(share(n), false))).collect();
        let mut all = Coverage::default();
        for thread in running {
            all.add(&thread.join().expect("a world broke: see above"));
        }
        all
    });
    println!("{reached}");
    assert_eq!(reached.gaps(), Vec::<String>::new(), "never reached");
    assert!(reached.steps > 1_000_000);
}

#[test]
fn what_was_found_once_does_not_come_back() {
    for line in include_str!("corpus.txt").lines() {
        let (seed, _) = line.split_once(' ').unwrap();
        let seed = seed.parse().unwrap();
        run(seed..seed + 1, false);
    }
}

#[test]
fn the_same_seed_gives_the_same_world() {
    assert_eq!(run(7..8, false).to_string(), run(7..8, false).to_string());
}

/// Runs the worlds of these seeds; prints what controllers hear and do, if that is wanted.
fn run(seeds: Range<u64>, is_traced: bool) -> Coverage {
    let mut reached = Coverage::default();
    for seed in seeds {
        let mut world = World::new(seed, is_traced);
        for _ in 0..STEPS {
            world.step();
        }
        world.end();
        reached.add(&world.coverage);
    }
    reached
}

/// What a variable of the environment says, if it is set.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
