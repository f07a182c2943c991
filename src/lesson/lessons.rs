//! Which lesson.

use clap::Subcommand;

use super::{LessonError, NoPlan, depth, discovery, faults, propagation, replicas};
use crate::runtime::Stop;

/// Which lesson.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Three probes: what each setting of them does to eight replicas in 180 turns
    Replicas(replicas::Args),
    /// What a health endpoint should ask: five depths of it on three replicas and two shared stores
    Depth(depth::Args),
    /// A registry, its heartbeats and the window they leave: who goes on sending to a dead replica, and for how long
    Discovery(discovery::Args),
    /// When a decision reaches the traffic, by how a load balancer reads results
    Propagation(propagation::Args),
    /// What each rule with the whole fleet in view is for: a fault without it, with it, and under the kubelet alone
    Faults(faults::Args),
}

/// What is going to be done; it makes sense.
#[derive(Debug)]
pub enum Plan {
    /// The lesson "replicas".
    Replicas(replicas::Plan),
    /// The lesson "depth".
    Depth(depth::Plan),
    /// The lesson "discovery".
    Discovery(discovery::Plan),
    /// The lesson "propagation".
    Propagation(propagation::Plan),
    /// The lesson "faults".
    Faults(faults::Plan),
}

impl Command {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        Ok(match self {
            Self::Replicas(args) => Plan::Replicas(args.plan()?),
            Self::Depth(args) => Plan::Depth(args.plan()?),
            Self::Discovery(args) => Plan::Discovery(args.plan()?),
            Self::Propagation(args) => Plan::Propagation(args.plan()?),
            Self::Faults(args) => Plan::Faults(args.plan()?),
        })
    }
}

impl Plan {
    /// Does it, and prints the table on standard output; of a lesson that fails or is told to stop, what was measured
    /// before. Told to stop, it cleans up first; told again, it says what is left.
    pub async fn run(self, stop: &Stop) -> Result<(), LessonError> {
        match self {
            Self::Replicas(plan) => plan.run(stop).await,
            Self::Depth(plan) => plan.run(stop).await,
            Self::Discovery(plan) => plan.run(&stop.once).await,
            Self::Propagation(plan) => plan.run(stop).await,
            Self::Faults(plan) => plan.run(stop).await,
        }
    }
}
