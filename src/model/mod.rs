//! The model: simulated replicas and traffic around the very engine that runs on a cluster, in logical time.
//!
//! Within a turn, in this order: planned reopenings, and replicas that join; new faults; beats, if the policy hears
//! any, and those who deregister; every attempt that is due, answered from the true condition; the engine's decisions,
//! carried out at once; traffic. A restarted container begins an instant after the turn's decisions, so that nothing
//! asks it in the turn it was restarted in.

mod addresses;
mod beats;
mod deaths;
pub mod discovery;
mod endpoints;
pub mod kubelet;
mod network;
mod observer;
pub mod propagation;
mod run;
mod traffic;
mod world;

use crate::api::ParsedPolicy;
use crate::engine::{Phase, Policy, Time};
use crate::scenario::Scenario;

pub use endpoints::ModelError;
pub use observer::{Attempt, Member, Moment, Observer, Standing, Turn};
pub use run::{Ejection, Restart, Run};
pub use traffic::{Tally, Traffic};

use endpoints::{endpoints, stores};
use kubelet::Kubelet;
use world::{Pace, World};

/// Checks that a policy can be run on a scenario.
pub fn check(scenario: &Scenario, policy: &ParsedPolicy) -> Result<(), ModelError> {
    endpoints(scenario, policy)?;
    stores(scenario, policy).map(|_| ())
}

/// Runs a policy on a scenario from its first turn to its last.
///
/// With a readiness or a heartbeat rule the pool is who the engine let in; without either everybody is in it all the
/// time. Where the scenario has a registry to resolve by, or says how decisions propagate, requests know of the pool
/// what these let them.
pub fn run(scenario: &Scenario, policy: &ParsedPolicy) -> Result<Run, ModelError> {
    go(scenario, policy, None, &mut (), Pace::Skipping)
}

/// The same, watched step by step; it takes longer, since nothing is skipped.
pub fn observe<O: Observer>(scenario: &Scenario, policy: &ParsedPolicy, observer: &mut O) -> Result<Run, ModelError> {
    go(scenario, policy, None, observer, Pace::Stepping)
}

fn go<O: Observer>(
    scenario: &Scenario,
    policy: &ParsedPolicy,
    kubelet: Option<Kubelet>,
    observer: &mut O,
    pace: Pace,
) -> Result<Run, ModelError> {
    let (endpoints, dependencies) = (endpoints(scenario, policy)?, stores(scenario, policy)?);
    let policy = Policy { phase: Phase::Aligned { origin: Time::ZERO }, ..policy.policy.clone() };
    Ok(World::new(scenario, policy, endpoints, dependencies, kubelet, observer, pace).run())
}
