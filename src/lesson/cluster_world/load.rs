//! What the load says while it is sent.

use std::time::Duration;

use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

use super::ClusterError;
use super::manifests::LOAD;
use crate::fake_app::load::{Line, RequestLine, Summary, TruthLine};
use crate::lesson::progress::Progress;

/// From a log that broke off to the next try.
const PAUSE: Duration = Duration::from_millis(500);

/// All that the load says.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub requests: Vec<RequestLine>,
    pub truths: Vec<TruthLine>,
    pub summary: Summary,
}

/// Reads the load's lines to the last one. A log that breaks off is read again from its beginning.
pub(super) async fn follow(pods: &Api<Pod>, progress: &Progress) -> Result<Said, ClusterError> {
    let mut last_words = "none".to_owned();
    loop {
        let end = how_it_ended(pods).await;
        match read(pods, progress, &mut last_words).await {
            Ok(Some(said)) => return Ok(said),
            Ok(None) => {}
            Err(error) => last_words = error.to_string(),
        }
        if let Some(how) = end {
            return Err(ClusterError::NoSummary { how, last_words });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn read(pods: &Api<Pod>, progress: &Progress, last_words: &mut String) -> Result<Option<Said>, kube::Error> {
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut lines = pods.log_stream(LOAD, &follow).await?.lines();
    let (mut requests, mut truths) = (Vec::new(), Vec::new());
    while let Some(line) = lines.try_next().await.map_err(kube::Error::ReadEvents)? {
        match serde_json::from_str(&line) {
            Ok(Line::Request(request)) => requests.push(request),
            Ok(Line::Truth(truth)) => {
                progress.turn(truth.turn);
                truths.push(truth);
            }
            Ok(Line::Summary(summary)) => return Ok(Some(Said { requests, truths, summary })),
            Err(_) => *last_words = line,
        }
    }
    Ok(None)
}

async fn how_it_ended(pods: &Api<Pod>) -> Option<String> {
    let status = pods.get_opt(LOAD).await.ok().flatten()?.status?;
    let ended = status.container_statuses?.into_iter().find_map(|container| container.state?.terminated)?;
    Some(ended.reason.unwrap_or_else(|| format!("exit code {}", ended.exit_code)))
}
