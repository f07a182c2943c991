use k8s_openapi::api::core::v1::Node;

use crate::engine::NodeState;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// Its name.
    pub name: Box<str>,
    /// Its own `Ready` condition; a node that has never said so is not.
    pub state: NodeState,
    /// The zone that it is in, if it says so.
    pub zone: Option<Box<str>>,
}

const ZONE: &str = "topology.kubernetes.io/zone";

impl From<Node> for NodeRecord {
    fn from(node: Node) -> Self {
        let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
        let ready = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        let zone = node.metadata.labels.and_then(|mut labels| labels.remove(ZONE));
        Self {
            zone: zone.map(Into::into),
            name: node.metadata.name.unwrap_or_default().into(),
            state: if ready { NodeState::Ready } else { NodeState::NotReady },
        }
    }
}
