//! The Kubernetes vocabulary: what a user writes, what the status says, and how both become engine terms.
//!
//! ```text
//! ProbePolicySpec --parse()--> ParsedPolicy { engine::Policy, selector, what each rule asks }
//!        ^                          every check is told twice, here and to the API server: checks
//!        |
//! manifest (a file, by yaml)  or  the API server (by crd)
//! ```

mod checks;
pub mod conditions;
mod convert;
mod crd;
mod dependency;
mod duration;
mod family;
mod flapping;
mod fnv1a;
mod handler;
mod labels;
mod manifest;
mod names;
mod pause;
mod place;
mod port;
mod seat;
mod selector;
mod spec;
mod status;
#[cfg(test)]
pub mod test_support;
mod verdict;
mod would_have;
pub mod yaml;

pub use convert::{Ask, ParsedPolicy, SpecError};
pub use crd::{crd, crd_yaml};
pub use dependency::{DependencyAsk, DependencySpec, WhenDownSpec};
pub use duration::{Duration, InvalidDuration};
pub use family::{IpFamily, Sockets};
pub use flapping::{EjectionBackoffSpec, FailureWindowSpec};
pub(crate) use fnv1a::fnv1a;
pub use handler::{
    ComponentScope, Exec, ExecSpec, Grpc, GrpcSpec, Handler, HealthBody, HttpGet, HttpGetSpec, HttpHeaderSpec,
    Redirects, Scheme, ServingState, TcpSocket, TcpSocketSpec, Tls, TlsSpec,
};
pub use labels::Labels;
pub use manifest::{policy_from_str, read_policy};
pub use names::{
    ALIGNED_TO, BEATS, BEATS_AUDIENCE, CONTROLLER, GATE, HEARTBEAT, SLICE_MANAGER, SLICE_OF, VERDICT, aligned_to,
};
pub use pause::{PAUSED_REASON, PAUSED_UNTIL, PauseNote};
pub use port::Port;
pub use seat::{InvalidSeat, SeatName};
pub use selector::{Operator, Requirement, Selector};
pub use spec::{
    BackoffSpec, BreakerSpec, BudgetSpec, FleetSpec, HeartbeatSpec, Method, ModeSpec, OtherOwnersSpec, PoolSpec,
    ProbePolicy, ProbePolicySpec, RestartSpec, RuleSpec, SharedFailureSpec, Through, WhenBelowSpec,
};
pub use status::{
    BudgetStatus, CapacityStatus, DependencyStatus, HeartbeatStatus, IntentStatus, PodNote, ProbePolicyStatus,
    RestartCounts, RuleName, RuleStatus, SeatStatus, StartupBucket, StartupStatus, TransitionStatus,
};
pub use verdict::{InvalidVerdict, VerdictAnnotation};
pub use would_have::{WouldHaveCounts, WouldHaveStatus};
