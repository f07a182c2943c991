//! The lesson "faults": what each rule that has the whole fleet in view is for. Each has a scenario with the fault that
//! it is about, a policy without it and one with it, and the kubelet alone to compare with.

mod command;
mod pods;
mod rules;
mod table;

pub use command::{Args, Plan};
