//! The world of processes on this machine: the engine and the probers of the controller, on real sockets, in real
//! time, with nothing installed.
//!
//! ```text
//!  fake app <--attempts-- World <--> Engine        one task owns the engine, as in the controller
//!     ^  ^                  |  \
//!     |  '--orders-- Keeper <   '--pool--> load    which goes where the world believes it is served
//!     '-------------requests-----------------'
//! ```
//!
//! What is measured is measured from outside: traffic by the load's own lines, restarts by the world's orders, and
//! what a replica really was by the scenario.

mod error;
mod experiment;
mod keeper;
mod log;
mod policy;
mod process;
mod replica;
mod run;
mod script;
mod world;

pub use error::LocalError;
pub use experiment::{Experiment, Listing};
pub use log::{Log, Look, Rejected, Sent, Turn, traffic};
pub use policy::PacedPolicy;
pub use process::Program;
pub use run::{Counts, Restart, Run, run};
pub use script::Script;
