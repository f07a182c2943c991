//! What can go wrong on a cluster, and what to do about it.

use super::manifests::ManifestError;
use crate::cluster::ClientError;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No API server.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The API server refused something.
    #[error("cannot {what}: {error}")]
    Refused {
        /// What was tried.
        what: String,
        /// What it said.
        error: Box<kube::Error>,
    },
    /// The cluster does not know our policies.
    #[error("the cluster does not know ProbePolicy: kubectl apply -f deploy/ (or measure the peer: --probes kubelet)")]
    NoCrd,
    /// Nobody would act on our policies.
    #[error(
        "no controller leads: {why}. Install one with kubectl apply -f deploy/ and wait with kubectl -n probe-policy \
         rollout status deployment/controller (or measure the peer: --probes kubelet)"
    )]
    NoController {
        /// How that was seen.
        why: &'static str,
    },
    /// A manifest that is part of the program is broken.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A pod will never run.
    #[error("{pod}. Load the image onto every node (deploy/image builds it), or name another one with --image")]
    Hopeless {
        /// Which pod, and why.
        pod: String,
    },
    /// Not everybody was there for t = 0.
    #[error("only {ready} of {pods} pods were Ready and the load {load} {lead:?} after they were created")]
    Late {
        /// How many were.
        ready: usize,
        /// How many there are.
        pods: usize,
        /// What of the load.
        load: &'static str,
        /// How long they had.
        lead: std::time::Duration,
    },
    /// The load did not send all requests.
    #[error("{unsent} requests were not sent, so the figures mean nothing: somebody told the load to end")]
    Unsent {
        /// How many.
        unsent: u64,
    },
    /// The watch of the pods ended.
    #[error("the pods can no longer be watched")]
    Blind,
    /// The load goes on for ever.
    #[error("the load did not come to its end in time")]
    Endless,
    /// The load ended without a summary.
    #[error("the load ended before its time ({how}); its last words: {last_words}")]
    NoSummary {
        /// How it ended.
        how: String,
        /// What it wrote last.
        last_words: String,
    },
    /// Somebody wants it to end.
    #[error("interrupted")]
    Interrupted,
    /// The namespace is still there.
    #[error("the namespace {namespace} is not gone: kubectl delete namespace {namespace}")]
    NotGone {
        /// Which one.
        namespace: String,
    },
}

impl ClusterError {
    /// Whether nobody answers as an API server does.
    pub fn is_no_cluster(&self) -> bool {
        match self {
            Self::Client(_) => true,
            Self::Refused { error, .. } => !matches!(**error, kube::Error::Api(_)),
            Self::NoCrd
            | Self::NoController { .. }
            | Self::Manifest(_)
            | Self::Hopeless { .. }
            | Self::Late { .. }
            | Self::Unsent { .. }
            | Self::Blind
            | Self::Endless
            | Self::NoSummary { .. }
            | Self::Interrupted
            | Self::NotGone { .. } => false,
        }
    }

    /// What the API server says to something that was tried.
    pub(super) fn refused(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        move |error| Self::Refused { what: what.into(), error: Box::new(error) }
    }
}
