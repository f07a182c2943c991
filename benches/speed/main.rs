//! How fast the model is, and the engine in it. Each figure is a line; nothing here passes or fails.
//!
//! ```text
//! cargo bench
//! ```

#![allow(clippy::unwrap_used, reason = "a benchmark of files that do not parse has nothing to measure")]

mod attempts;
mod clock;
mod fleet;
mod lesson;
mod sweep;
#[path = "../warm/mod.rs"]
mod warm;

fn main() {
    lesson::print();
    attempts::print();
    sweep::print();
    fleet::print();
}
