//! What every running process needs: its clock, how it is told to end, and a single request to another.

mod clock;
pub mod request;
mod stop;

pub use clock::{Clock, time, timestamp};
pub use stop::{Stop, stop_on_signal, stop_on_signals};
