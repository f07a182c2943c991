//! Restarts a pod: asks the disruption budgets (Evict), or does not (Delete). One never falls back to the other.
//!
//! Both carry the pod's UID as a precondition. Not its resource version: that moves with every heartbeat of the
//! pod's status, also with the one that follows our own gate.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, EvictParams, Preconditions};
use kube::{Api, Client};

use super::answer::{self, Failure};
use super::elect::Permit;
use crate::cluster::records::{ObjectName, Uid};
use crate::engine::{RestartMethod, Span};

/// Which pod is restarted, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart {
    /// Which pod, by name.
    pub pod: ObjectName,
    /// Which pod of that name.
    pub uid: Uid,
    /// By what means.
    pub method: RestartMethod,
    /// What its processes get to end; rounded up to whole seconds.
    pub grace_period: Span,
}

impl Restart {
    /// Carries the restart out as the leader.
    ///
    /// # Errors
    /// If it was not sent, not answered in time, or refused; a disruption budget's refusal is one.
    pub async fn send(&self, actor: Client, permit: &Permit, timeout: Duration) -> Result<(), Failure> {
        let pods: Api<Pod> = Api::namespaced(actor, &self.pod.namespace);
        let delete = self.delete_params();
        match self.method {
            RestartMethod::Evict => {
                let evict = EvictParams { delete_options: Some(delete), ..EvictParams::default() };
                answer::ask(permit, timeout, pods.evict(&self.pod.name, &evict)).await?;
            }
            RestartMethod::Delete => {
                answer::ask(permit, timeout, pods.delete(&self.pod.name, &delete)).await?;
            }
        }
        Ok(())
    }

    fn delete_params(&self) -> DeleteParams {
        let seconds = self.grace_period.as_nanos().div_ceil(1_000_000_000);
        DeleteParams {
            grace_period_seconds: Some(u32::try_from(seconds).unwrap_or(u32::MAX)),
            preconditions: Some(Preconditions { uid: Some(self.uid.0.to_string()), resource_version: None }),
            ..DeleteParams::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_period_is_never_cut_short_and_the_uid_always_sent() {
        let restart = Restart {
            pod: ObjectName::new("shop", "web-0"),
            uid: Uid("5f0c".into()),
            method: RestartMethod::Delete,
            grace_period: Span::from_millis(1_500),
        };
        let params = restart.delete_params();
        assert_eq!(params.grace_period_seconds, Some(2));
        assert_eq!(params.preconditions.unwrap().uid.as_deref(), Some("5f0c"));
    }
}
