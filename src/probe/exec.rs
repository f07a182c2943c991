//! The exec kind: a command in the container, through the API server.
//!
//! It is the dearest kind: each attempt is a connection of its own through the API server and the kubelet, and a process
//! in the container. A command that is still running at the deadline goes on there, with nobody to hear it.

use std::fmt;
use std::io;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::AttachParams;
use kube::{Api, Client};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Semaphore;

use super::{Kind, Stage};
use crate::api::Exec;
use crate::engine::OutcomeClass;

/// Commands in flight at most, whatever else is: the API server holds a connection for each.
const MAX_COMMANDS: usize = 16;

/// The most bytes of a command's errors that are taken; one that writes more is no response. Its output is not sent here
/// at all.
const MAX_ERRORS: usize = 64 * 1024;

/// The way to containers. Clones share one limit of [`MAX_COMMANDS`].
#[derive(Clone)]
pub struct Commands {
    client: Client,
    slots: Arc<Semaphore>,
}

/// A container that commands can be run in.
#[derive(Clone)]
pub struct Container {
    commands: Commands,
    namespace: String,
    pod: String,
    name: String,
}

impl Commands {
    /// By a client that neither repeats a request nor ends one by itself.
    pub fn new(client: Client) -> Self {
        Self { client, slots: Arc::new(Semaphore::new(MAX_COMMANDS)) }
    }

    /// A container of a pod.
    pub fn container(&self, namespace: &str, pod: &str, name: &str) -> Container {
        Container {
            commands: self.clone(),
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl Kind for Exec {
    type Place = Container;

    async fn ask(&self, place: &Container, stage: &mut Stage) -> io::Result<OutcomeClass> {
        *stage = Stage::Preparing;
        let Ok(_slot) = place.commands.slots.acquire().await else { return Ok(OutcomeClass::ProberError) };
        // Kept apart, since it is large and few attempts need it.
        Box::pin(run(self, place, stage)).await
    }
}

async fn run(exec: &Exec, place: &Container, stage: &mut Stage) -> io::Result<OutcomeClass> {
    let pods: Api<Pod> = Api::namespaced(place.commands.client.clone(), &place.namespace);
    let attach = AttachParams::default().container(&place.name).stdin(false).stdout(false).stderr(true);
    let mut process = pods.exec(&place.pod, exec.command(), &attach).await.map_err(io::Error::other)?;
    *stage = Stage::Waiting;
    let (Some(ended), Some(errors)) = (process.take_status(), process.stderr()) else {
        return Ok(OutcomeClass::ProberError);
    };
    tokio::select! {
        status = ended => class(status),
        () = too_many(errors) => Ok(OutcomeClass::NoResponse),
    }
}

/// Reads a command's errors. Returns only if they are too many.
async fn too_many(mut errors: impl AsyncRead + Unpin) {
    let mut buffer = [0; 1024];
    let mut left = MAX_ERRORS;
    while let Ok(read @ 1..) = errors.read(&mut buffer).await {
        match left.checked_sub(read) {
            Some(less) => left = less,
            None => return,
        }
    }
    std::future::pending().await
}

/// A command that could not be run, or of which nothing more is heard, says nothing of the replica.
fn class(status: Option<Status>) -> io::Result<OutcomeClass> {
    let status =
        status.ok_or_else(|| io::Error::other("the API server ended the connection before the command ended"))?;
    if status.status.as_deref() == Some("Success") {
        return Ok(OutcomeClass::Passed);
    }
    let causes = status.details.iter().flat_map(|details| details.causes.iter().flatten());
    let code = causes.filter(|cause| cause.reason.as_deref() == Some("ExitCode"));
    match code.filter_map(|cause| cause.message.as_ref()?.parse().ok()).next() {
        Some(code) => Ok(OutcomeClass::BadExit { code }),
        None => Err(io::Error::other(status.message.unwrap_or_default())),
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "container {} of {}/{}", self.name, self.namespace, self.pod)
    }
}
