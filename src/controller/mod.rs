//! The running process.

pub mod clock;
pub mod elect;
pub mod lease;
