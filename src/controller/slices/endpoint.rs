//! A pod as an endpoint of a Service: at which of its addresses, and at which ports.

use std::net::IpAddr;

use crate::cluster::Index;
use crate::cluster::records::{EndpointRecord, Family, Group, PodRecord, ServiceRecord, SlicePort, TargetPort};
use crate::engine::{Gate, Readiness};

/// Where a pod serves for a Service, by slices that it fits into: one for each family of addresses that both have. None
/// if it declares none of the ports that the Service names.
pub(super) fn addresses(pod: &PodRecord, service: &ServiceRecord) -> Vec<(Group, IpAddr)> {
    let ports: Box<[SlicePort]> = service
        .ports
        .iter()
        .filter_map(|port| {
            let number = match &port.target {
                TargetPort::Number(number) => *number,
                TargetPort::Name(name) => named(pod, name)?,
            };
            let (name, protocol, app_protocol) = (port.name.clone(), port.protocol.clone(), port.app_protocol.clone());
            Some(SlicePort { name, protocol, app_protocol, number })
        })
        .collect();
    if ports.is_empty() && !service.ports.is_empty() {
        return Vec::new();
    }
    let fits = |family| service.families.is_empty() || service.families.contains(&family);
    let addresses = pod.addresses.iter().map(|address| (Family::of(*address), *address));
    addresses
        .filter(|(family, _)| fits(*family))
        .map(|(family, address)| (Group { family, ports: ports.clone() }, address))
        .collect()
}

/// The pod at that address, behind that gate.
pub(super) fn endpoint(index: &Index, pod: &PodRecord, address: IpAddr, gate: Gate) -> EndpointRecord {
    let zone = pod.node.as_deref().and_then(|node| index.zone(node));
    let endpoint = EndpointRecord {
        pod: pod.name.name.clone(),
        uid: pod.uid.clone(),
        address,
        node: pod.node.clone(),
        zone: zone.map(Into::into),
        gate,
        lifecycle: pod.lifecycle,
        ready: Readiness::NotReady,
    };
    endpoint.settled()
}

/// The first port that one of the pod's containers declares under that name.
fn named(pod: &PodRecord, name: &str) -> Option<u16> {
    let ports = pod.containers.iter().flat_map(|container| &container.ports);
    ports.filter(|(declared, _)| declared.as_deref() == Some(name)).map(|(_, number)| *number).next()
}
