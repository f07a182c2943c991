//! A policy and a scenario on processes of this machine, with the policy's file open to edits while it runs.

mod command;
mod edits;
mod screen;
mod table;
mod view;

pub use command::{LabArgs, LabPlan};
