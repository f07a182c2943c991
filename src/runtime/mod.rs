//! What every running process needs: its clock, and how it is told to end.

mod clock;
mod stop;

pub use clock::{Clock, time, timestamp};
pub use stop::{Stop, stop_on_signal, stop_on_signals};
