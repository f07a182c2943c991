//! How long replicas took to start, as a histogram of the latest revisions: no series outlives what the status keeps.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::state::State;
use crate::engine::StartupTimes;

/// The startup times of all policies.
#[derive(Debug)]
pub struct StartupDurations(Vec<(Labels, StartupTimes)>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    namespace: String,
    policy: String,
    revision: String,
}

impl StartupDurations {
    /// Those that are believed now.
    pub fn of(state: &State) -> Self {
        let of_policies = state.policies.iter().flat_map(|policy| {
            policy.startups.iter().map(|startups| {
                let revision = startups.revision.clone().unwrap_or_default();
                let (namespace, policy) = (policy.namespace.clone(), policy.name.clone());
                (Labels { namespace, policy, revision }, startups.times())
            })
        });
        Self(of_policies.collect())
    }
}

impl Collector for StartupDurations {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        const HELP: &str = "From a container's start to the pass that ended its startup";
        let mut family =
            encoder.encode_descriptor("startup_duration", HELP, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (labels, times) in &self.0 {
            let bounds = StartupTimes::BOUNDS.into_iter().map(|bound| bound.as_secs_f64()).chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(times.counts.map(u64::from)).collect();
            let (sum, count) = (times.total.as_secs_f64(), u64::from(times.starts()));
            family.encode_family(labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }
}
