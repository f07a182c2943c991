//! One decision engine for liveness, startup and readiness, run in several worlds, so that a probe policy can be
//! tried, shadowed and then enforced with the same code. This is the map; read [`engine`] first.
//!
//! ```text
//! bin/            probe-policy (controller + tools)            fake-app (scripted app + load)
//!   |
//! cli/            the command line of probe-policy; that of fake-app is its own
//!   |
//! lesson/         the published lessons, run in a world and compared with the model
//! tools/          people's own policies and scenarios: simulate, compare, sweep in the model, lab on processes
//!   |
//! controller/     the running process: one task owns the engine, executors carry its effects out
//!   |
//! report/         what came of a run, in any world: figures, tables, the forms they are printed in
//!   |
//! local/          the world of processes on this machine
//!   |
//! cluster/        the world of real pods: index, gate, restart, lease, status, events
//! model/          the world of simulated replicas and traffic
//! probe/          the attempts themselves: http, tcp, grpc, exec
//! fake_app/       the scripted app and the load on it
//!   |
//! scenario/       what happens to a fleet: startup times, reopenings, faults; the true state of a replica
//! api/            the Kubernetes vocabulary: ProbePolicy, its conversion and validation, conditions, YAML
//! registry/       who is there, by heartbeats, and how a consumer learns it
//! runtime/        what every running process needs: its clock, and how it is told to end
//!   |
//! engine/         pure: no clock, no I/O, no kube, no tokio, no randomness
//! ```
//!
//! Dependencies only point downwards; `tests/layers.rs` holds that.

pub mod api;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod engine;
pub mod fake_app;
pub mod lesson;
pub mod local;
pub mod model;
pub mod probe;
pub mod registry;
pub mod report;
pub mod runtime;
pub mod scenario;
pub mod tools;
