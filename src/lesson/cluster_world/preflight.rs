//! Whether a cluster can run a lesson under our controller.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, CustomResourceExt};

use super::ClusterError;
use crate::api::ProbePolicy;

/// Namespace and name of the lease of the controllers.
const LEASE: [&str; 2] = ["probe-policy", "probe-policy"];

/// What a lease may be late, since clocks differ.
const SLACK: Duration = Duration::from_secs(5);

/// Refuses a cluster that does not know our policies, or in which no controller leads.
pub(super) async fn check(client: &Client) -> Result<(), ClusterError> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let definition = definitions.get_opt(ProbePolicy::crd_name()).await;
    definition.map_err(ClusterError::refused("look for the CustomResourceDefinition"))?.ok_or(ClusterError::NoCrd)?;
    let [namespace, name] = LEASE;
    let lease = Api::<Lease>::namespaced(client.clone(), namespace).get_opt(name).await;
    let lease = lease.map_err(ClusterError::refused("read the controllers' lease"))?;
    match lease {
        None => Err(ClusterError::NoController { why: "there is no lease probe-policy/probe-policy" }),
        Some(lease) if is_held(&lease, Timestamp::now()) => Ok(()),
        Some(_) => Err(ClusterError::NoController { why: "the lease probe-policy/probe-policy is not held" }),
    }
}

fn is_held(lease: &Lease, now: Timestamp) -> bool {
    let Some(spec) = &lease.spec else { return false };
    let held = spec.holder_identity.as_ref().is_some_and(|holder| !holder.is_empty());
    let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
    let renewed = spec.renew_time.as_ref().map(|renewed| renewed.0);
    held && renewed.is_some_and(|renewed| now < renewed + Duration::from_secs(seconds) + SLACK)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_is_held_by_somebody_who_renews_it() {
        let held = |holder: &str, renewed: &str| {
            let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed});
            let lease = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
            is_held(&lease, "2026-03-01T12:01:00Z".parse().unwrap())
        };
        assert!(held("controller-1", "2026-03-01T12:00:50.000000Z"));
        assert!(!held("controller-1", "2026-03-01T12:00:30.000000Z"));
        assert!(!held("", "2026-03-01T12:00:59.000000Z"));
    }
}
