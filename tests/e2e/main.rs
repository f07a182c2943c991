//! The operator on a real cluster, as the people see it who use it: both images loaded, `deploy/` applied, fleets of
//! fake apps that fail by a script. What happened is told by an independent watch ([`support::Witness`]), never by the
//! controller's own figures.
//!
//! `eval "$(tests/cluster/cluster env)" && cargo test --test e2e -- --ignored --test-threads=4`

#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

mod support;

mod against_the_kubelet;
mod budgets;
mod containers;
mod dependencies;
mod edits;
mod exec;
mod faults;
mod heartbeats;
mod leaders;
mod lesson;
mod modes;
mod neighbours;
mod outages;
mod owners;
mod pages;
mod rights;
mod rollouts;
mod selection;
mod slices;
mod traffic;
mod uninstall;
