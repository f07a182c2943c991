//! What the tests stand on.

mod cluster;
mod controllers;
mod eventually;
mod fleet;
mod kubectl;
mod load;
mod namespace;
mod process;
mod witness;

pub use cluster::Cluster;
pub use controllers::{as_controller, leader, other_leader, scale};
pub use eventually::{eventually, let_pass, seconds, until};
pub use fleet::{Fleet, SIDECAR, container, pod};
pub use kubectl::{kubectl, kubectl_with};
pub use load::Absence;
pub use namespace::{Namespace, RULES, UNGUARDED, condition, rules_by_slices};
pub use process::Process;
pub use witness::{Happening, What, Witness};
