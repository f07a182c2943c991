//! A fleet of a hundred thousand replicas over a thousand turns, each of which meets two faults on average.

use probe_policy::lesson::Setting;
use probe_policy::scenario::ScenarioFile;

use super::lesson;

const SCENARIO: &str = "
turn: 1s
turns: 1000
requestsPerTurn: 50000
replicas: {count: 100000, startup: 6}
randomFaults: [{stuck: {}, every: 1000}, {dependencyLost: {for: 10}, every: 1000}]
";

/// Prints how long the run takes.
pub fn print() {
    let scenario = ScenarioFile::parse("fleet", SCENARIO).unwrap();
    let policy = lesson::parse(&Setting::PlusStartup.policy().unwrap().spec);
    let mut restarts = 0;
    let took = super::clock::once(|| restarts = lesson::run(&scenario, &policy).restarts.len());
    println!("fleet, 100000 replicas over 1000 turns, {restarts} restarts: {:.1} s", took.as_secs_f64());
}
