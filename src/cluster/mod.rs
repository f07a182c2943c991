//! The world of real pods, as far as it is read: watches feed an index, and the index tells the engine what changed.
//!
//! 1. [`watch()`] turns every watch into [`WatchEvent`]s of slim [`records`] on one channel.
//! 2. [`Index::apply`] takes each event and answers with the inputs that the engine must hear.
//! 3. [`Index::replay`] tells all of it from the start, for an engine that begins once [`Index::is_synced`].
//!
//! The index hands out the engine's dense keys and keeps the names behind them, so it also answers what an
//! executor needs to know to carry an effect out.

mod client;
pub mod index;
mod listing;
pub mod records;
mod target;
#[cfg(test)]
mod test_support;
mod watch;

pub use client::{ClientError, Clients};
pub use index::{AttemptTarget, DependencyTargets, Index, Move, PoolName, Touched};
pub use watch::{Change, Scope, SliceWatch, WatchEvent, WatchKind, watch};
