//! A scripted app and the load on it, to run a scenario on real processes.
//!
//! [`serve`] is one replica. It acts out its true state by a scenario clock that all replicas share, so a restarted
//! process knows which faults are behind it. [`load`] sends requests at a fixed rate to the replicas that are really
//! ready and writes down what happened to each, and every turn what the replicas really are.

mod clock;
mod command;
mod lease;
mod leash;
pub mod load;
mod post;
mod presence;
mod registry;
mod script;
mod serve;
mod store;

pub use clock::Start;
pub use command::{Command, Failure, main};
pub use lease::PodLease;
pub use post::Post;
pub use script::{Script, Timing, Truth};
pub use serve::{Surroundings, serve};
pub use store::Write;
