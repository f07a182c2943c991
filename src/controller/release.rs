//! Opens every gate, and lets in every endpoint of our slices, with the caller's own rights, so that no pod stays out of
//! its pool when no controller runs.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::ListParams;

use super::gate::{GateCondition, GateWrite};
use super::slices::SliceWrite;
use crate::api::SLICE_MANAGER;
use crate::cluster::Scope;
use crate::cluster::records::{MANAGED_BY, ObjectName, PodRecord};
use crate::engine::{Gate, GateSeen, Lifecycle};

/// What became of the gates.
#[derive(Debug, Default)]
pub struct Released {
    /// Pods whose gate was opened.
    pub opened: usize,
    /// Pods whose gate was open already.
    pub open: usize,
    /// Slices that every endpoint was let into.
    pub slices: usize,
    /// Pods whose gate could not be opened, slices that could not be written, and why.
    pub failed: Vec<(ObjectName, kube::Error)>,
}

const PAGE: u32 = 50;

/// Opens the gate of every pod in scope that has one and will still run, and makes every endpoint of our slices ready but
/// for those whose pod is being ended. A pod whose gate cannot be opened does not keep the others from theirs.
///
/// # Errors
/// If the pods or the slices cannot be listed.
pub async fn release(client: &Client, scope: &Scope, now: Timestamp) -> kube::Result<Released> {
    let mut released = release_pods(client, scope, now).await?;
    let ours = ListParams::default().labels(&format!("{MANAGED_BY}={SLICE_MANAGER}"));
    for slice in scope.api::<EndpointSlice>(client).list(&ours).await? {
        let Some(write) = SliceWrite::released(slice) else { continue };
        match write.apply(client.clone()).await {
            Ok(_) => released.slices += 1,
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => released.failed.push((write.slice, error)),
        }
    }
    Ok(released)
}

async fn release_pods(client: &Client, scope: &Scope, now: Timestamp) -> kube::Result<Released> {
    let pods = scope.api::<Pod>(client);
    let mut released = Released::default();
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = pods.list(&page).await?;
        for pod in list.items {
            open(client, PodRecord::from(pod), now, &mut released).await;
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page.continue_token = Some(token),
            None => return Ok(released),
        }
    }
}

async fn open(client: &Client, pod: PodRecord, now: Timestamp, released: &mut Released) {
    match (pod.lifecycle, pod.gate) {
        (Lifecycle::Terminating, _) | (_, GateSeen::Ungated) => {}
        (Lifecycle::Live, GateSeen::Set(Gate::Open)) => released.open += 1,
        (Lifecycle::Live, GateSeen::Unset | GateSeen::Set(Gate::Closed)) => {
            let condition = GateCondition {
                gate: Gate::Open,
                since: now,
                reason: "Released",
                message: "the gate was opened by probe-policy release".to_owned(),
            };
            let write = GateWrite { pod: pod.name, uid: pod.uid, condition: Some(condition), verdict: None };
            match write.apply(client.clone()).await {
                Ok(_) => released.opened += 1,
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => released.failed.push((write.pod, error)),
            }
        }
    }
}
