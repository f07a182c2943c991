//! What came of one attempt.

use super::Span;

/// What came of one attempt. Slow is not dead: the latency is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it says about the replica.
    pub class: OutcomeClass,
    /// From the start of the attempt to its end.
    pub took: Span,
}

/// What an attempt says about the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutcomeClass {
    /// The answer was yes.
    Passed,
    /// Nobody is there to be asked; only of a dependency.
    NobodyThere,
    /// The connection was refused or reset before an answer.
    Refused,
    /// No connection within the timeout.
    ConnectTimeout,
    /// A connection, but no complete answer head within the timeout, or one that is not the protocol's.
    NoResponse,
    /// An answer with a status that the rule does not accept.
    BadStatus {
        /// The HTTP status.
        status: u16,
    },
    /// TLS with a certificate that the rule does not accept.
    BadCertificate,
    /// A gRPC call that failed.
    BadCall {
        /// gRPC's number for how, from 1.
        code: u8,
    },
    /// A command that ended with an exit code other than 0.
    BadExit {
        /// The exit code.
        code: u8,
    },
    /// A health service that says another state than the rule accepts.
    NotServing,
    /// A good status whose body stalled, broke off or was malformed.
    BadBody,
    /// Our own fault, never the replica's: it counts for nothing.
    ProberError,
}

/// How an outcome counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// For the replica.
    Pass,
    /// Against the replica.
    Fail,
    /// Not at all.
    Nothing,
}

/// How an attempt failed, as far as replicas may share the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// No connection: the path to the replica may be at fault. All others have been there, so they are not the path's.
    Unreachable,
    /// A connection, and no answer.
    NoResponse,
    /// A certificate that is not accepted.
    BadCertificate,
    /// A status that is not accepted, whichever it is.
    BadStatus,
    /// A gRPC call that failed, however it did.
    BadCall,
    /// An exit code other than 0, whichever it is.
    BadExit,
    /// A health service that says no.
    NotServing,
    /// A body that was not to be had.
    BadBody,
}

impl Failure {
    /// Whether two replicas that fail so may fail for one cause. Whoever is overloaded or cut off is now found without a
    /// connection and now without an answer; whoever answers says what it says.
    pub fn is_like(self, other: Self) -> bool {
        self == other || (self.is_unanswered() && other.is_unanswered())
    }

    const fn is_unanswered(self) -> bool {
        match self {
            Self::Unreachable | Self::NoResponse => true,
            Self::BadCertificate
            | Self::BadStatus
            | Self::BadCall
            | Self::BadExit
            | Self::NotServing
            | Self::BadBody => false,
        }
    }
}

impl OutcomeClass {
    /// How it failed, if it did.
    pub const fn failure(self) -> Option<Failure> {
        match self {
            Self::Passed | Self::ProberError => None,
            Self::NobodyThere | Self::Refused | Self::ConnectTimeout => Some(Failure::Unreachable),
            Self::NoResponse => Some(Failure::NoResponse),
            Self::BadCertificate => Some(Failure::BadCertificate),
            Self::BadStatus { .. } => Some(Failure::BadStatus),
            Self::BadCall { .. } => Some(Failure::BadCall),
            Self::BadExit { .. } => Some(Failure::BadExit),
            Self::NotServing => Some(Failure::NotServing),
            Self::BadBody => Some(Failure::BadBody),
        }
    }

    /// How it counts.
    pub const fn evidence(self) -> Evidence {
        match self {
            Self::Passed => Evidence::Pass,
            Self::NobodyThere
            | Self::Refused
            | Self::ConnectTimeout
            | Self::NoResponse
            | Self::BadCertificate
            | Self::BadStatus { .. }
            | Self::BadCall { .. }
            | Self::BadExit { .. }
            | Self::NotServing
            | Self::BadBody => Evidence::Fail,
            Self::ProberError => Evidence::Nothing,
        }
    }

    /// The class's name in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::NobodyThere => "nobody_there",
            Self::Refused => "refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::NoResponse => "no_response",
            Self::BadCertificate => "bad_certificate",
            Self::BadStatus { .. } => "bad_status",
            Self::BadCall { .. } => "bad_call",
            Self::BadExit { .. } => "bad_exit",
            Self::NotServing => "not_serving",
            Self::BadBody => "bad_body",
            Self::ProberError => "prober_error",
        }
    }
}

/// The class in words, as it stands in a sentence: "no response", "status 503".
impl std::fmt::Display for OutcomeClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::NobodyThere => f.write_str("nobody is there"),
            Self::Refused => f.write_str("connection refused"),
            Self::ConnectTimeout => f.write_str("connect timeout"),
            Self::NoResponse => f.write_str("no response"),
            Self::BadCertificate => f.write_str("bad certificate"),
            Self::BadStatus { status } => write!(f, "status {status}"),
            Self::BadCall { code } => write!(f, "gRPC status {code}"),
            Self::BadExit { code } => write!(f, "exit code {code}"),
            Self::NotServing => f.write_str("not serving"),
            Self::BadBody => f.write_str("bad body"),
            Self::ProberError => f.write_str("prober error"),
        }
    }
}
