use kube::core::{DeserializeGuard, ObjectMeta};

use super::{ObjectName, ResourceVersion, Uid};
use crate::api::{ParsedPolicy, PauseNote, ProbePolicy, ProbePolicyStatus, Selector, SpecError, aligned_to};
use crate::engine::{Phase, Time};
use crate::runtime::time;

/// A `ProbePolicy` object.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRecord {
    /// Where it is found.
    pub name: ObjectName,
    /// Which one.
    pub uid: Uid,
    /// The version this was read from.
    pub resource_version: ResourceVersion,
    /// The generation of its spec.
    pub generation: i64,
    /// When it was created.
    pub created: Time,
    /// What it asks for, or why that makes no sense.
    pub spec: Result<Box<ParsedPolicy>, PolicyProblem>,
    /// The pause that its annotations ask for, or why that makes no sense.
    pub pause: Option<Result<PauseNote, SpecError>>,
    /// What its status said; `None` if there was none, or none that can be read.
    pub status: Option<Box<ProbePolicyStatus>>,
}

/// Why a policy's object makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct PolicyProblem {
    /// One sentence that begins with the field's path, where there is one.
    pub sentence: String,
    /// The pods that it is about all the same, if that much can be read.
    pub selector: Option<Selector>,
}

impl From<DeserializeGuard<ProbePolicy>> for PolicyRecord {
    fn from(object: DeserializeGuard<ProbePolicy>) -> Self {
        match object.0 {
            Ok(policy) => {
                let spec = parse(&policy).map(Box::new);
                let record = Self::of(&policy.metadata, spec);
                Self { status: policy.status.map(Box::new), ..record }
            }
            Err(invalid) => Self::of(&invalid.metadata, Err(PolicyProblem { sentence: invalid.error, selector: None })),
        }
    }
}

impl PolicyRecord {
    /// Until when it is paused; `None`, or a time that is over: it is not.
    pub fn paused_until(&self) -> Option<Time> {
        Some(time(self.pause.as_ref()?.as_ref().ok()?.until))
    }

    fn of(meta: &ObjectMeta, spec: Result<Box<ParsedPolicy>, PolicyProblem>) -> Self {
        Self {
            name: ObjectName::of(meta),
            uid: Uid::of(meta),
            resource_version: ResourceVersion::of(meta),
            generation: meta.generation.unwrap_or(0),
            created: meta.creation_timestamp.as_ref().map_or(Time::ZERO, |created| time(created.0)),
            spec,
            pause: PauseNote::of(meta).transpose(),
            status: None,
        }
    }
}

fn parse(policy: &ProbePolicy) -> Result<ParsedPolicy, PolicyProblem> {
    let selector = Some(&policy.spec.selector).filter(|selector| !selector.is_empty());
    let problem = |sentence: String| PolicyProblem { sentence, selector: selector.cloned() };
    let phase = match aligned_to(&policy.metadata).map_err(|error| problem(error.to_string()))? {
        Some(instant) => Phase::Aligned { origin: time(instant) },
        None => Phase::Spread,
    };
    policy.spec.parse(policy.metadata.generation.unwrap_or(0), phase).map_err(|error| problem(error.to_string()))
}
