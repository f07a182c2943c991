//! The state of every replica, straight from the state of the process: with a series for each, metrics of their own would
//! hold every name several times over.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::state::PolicyState;

/// The states of the replicas of all policies.
#[derive(Debug)]
pub struct ReplicaStates(pub Vec<PolicyState>);

impl Collector for ReplicaStates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        const HELP: &str = "1 for each replica, by the state that it is in";
        let mut family = encoder.encode_descriptor("replica_state", HELP, None, MetricType::Gauge)?;
        for policy in &self.0 {
            for replica in &policy.replicas {
                let labels = [
                    ("namespace", policy.namespace.as_str()),
                    ("policy", policy.name.as_str()),
                    ("pod", &replica.pod),
                    ("state", replica.state),
                ];
                family.encode_family(&labels)?.encode_gauge(&1)?;
            }
        }
        Ok(())
    }
}
