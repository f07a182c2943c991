//! Whether a pool can be told by the slices of its Service.

use super::{Claim, list};
use crate::api::conditions::SERVICE_UNUSABLE;
use crate::cluster::Index;
use crate::controller::slices::{has_place, others_slice, usable};
use crate::engine::{Lifecycle, PolicyKey, PolicyReport};

pub(super) fn service_unusable(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Claim {
    let Some(pool) = index.pool(policy) else {
        return Claim::fails(SERVICE_UNUSABLE, "NotNeeded", "the policy names no Service");
    };
    let service = match usable(index, &pool) {
        Ok(service) => service,
        Err(unusable) => {
            let message = format!("{unusable}. Until then no slice is written");
            return Claim::holds(SERVICE_UNUSABLE, unusable.name(), message);
        }
    };
    let live = report.replica_reports.iter().filter(|replica| replica.lifecycle == Lifecycle::Live);
    let pods = live.filter_map(|replica| index.pod(replica.replica));
    let placeless = pods.filter(|pod| !pod.addresses.is_empty() && !has_place(pod, service));
    let mut placeless = placeless.map(|pod| pod.name.name.to_string()).peekable();
    if placeless.peek().is_some() {
        let message = format!(
            "{} cannot be an endpoint: it has no address of a family of the Service {}, or declares none of its ports",
            list(placeless),
            pool.service
        );
        return Claim::holds(SERVICE_UNUSABLE, "NoPlace", message);
    }
    match others_slice(index, &pool) {
        Some(slice) => {
            let message = format!("nobody is ejected from the slice {}, which somebody else manages", slice.name);
            Claim::holds(SERVICE_UNUSABLE, "OthersSlice", message)
        }
        None => Claim::fails(SERVICE_UNUSABLE, "Usable", "the slices of the Service are ours"),
    }
}
