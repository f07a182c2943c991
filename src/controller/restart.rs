//! Restarts a pod: asks the disruption budgets (Evict), or does not (Delete). One never falls back to the other.
//!
//! Both carry the pod's UID as a precondition. Not its resource version: that moves with every heartbeat of the
//! pod's status, also with the one that follows our own gate.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

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
                let eviction = self.eviction(&delete);
                let params = PostParams::default();
                let request = pods.create_subresource("eviction", &self.pod.name, &params, &eviction);
                let _: IgnoredAny = answer::ask(permit, timeout, request).await?;
            }
            RestartMethod::Delete => {
                answer::ask(permit, timeout, pods.delete(&self.pod.name, &delete)).await?;
            }
        }
        Ok(())
    }

    /// Not kube's own `Api::evict`: that names the options `delete_options`, which the API server does not know, so the
    /// precondition and the grace period would be lost without a word.
    fn eviction(&self, delete: &DeleteParams) -> Value {
        json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": *self.pod.name, "namespace": *self.pod.namespace},
            "deleteOptions": delete,
        })
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
    use crate::cluster::records::PodRecord;
    use crate::controller::playground::{Playground, TIMEOUT};
    use crate::engine::{EffectResult, Lifecycle, Refusal};

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

    #[tokio::test]
    #[ignore = "needs a cluster"]
    async fn a_disruption_budget_refuses_an_eviction_and_nothing_else_is_tried() {
        let place = Playground::open("budget").await;
        let pod = place.gated_pod("web").await;
        place.budget_of_all_pods().await;
        let refused = send(&place, &pod, RestartMethod::Evict).await.unwrap_err();
        assert_eq!(refused.result(), EffectResult::Refused(Refusal::Budget));
        assert_eq!(place.pod("web").await.lifecycle, Lifecycle::Live);
        send(&place, &pod, RestartMethod::Delete).await.unwrap();
        place.close().await;
    }

    #[tokio::test]
    #[ignore = "needs a cluster"]
    async fn a_pod_of_the_same_name_that_came_after_is_not_restarted() {
        let place = Playground::open("restart-uid").await;
        let pod = place.gated_pod("web").await;
        let earlier = PodRecord { uid: Uid("0f0c0000-0000-0000-0000-000000000000".into()), ..pod };
        for method in [RestartMethod::Evict, RestartMethod::Delete] {
            let refused = send(&place, &earlier, method).await.unwrap_err();
            assert_eq!(refused.result(), EffectResult::Refused(Refusal::Changed), "{method:?}");
        }
        assert_eq!(place.pod("web").await.lifecycle, Lifecycle::Live);
        place.close().await;
    }

    async fn send(place: &Playground, pod: &PodRecord, method: RestartMethod) -> Result<(), Failure> {
        let (pod, uid) = (pod.name.clone(), pod.uid.clone());
        let restart = Restart { pod, uid, method, grace_period: Span::ZERO };
        restart.send(place.clients.actor.clone(), &place.permit(), TIMEOUT).await
    }
}
