use k8s_openapi::api::core::v1::{Service, ServicePort as Port, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Family, ObjectName, Uid};

/// A Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRecord {
    /// Where it is found.
    pub name: ObjectName,
    /// Which one.
    pub uid: Uid,
    /// Who says what its endpoints are.
    pub endpoints: EndpointsBy,
    /// Its ports; only kept where anybody may say what the endpoints are.
    pub ports: Box<[ServicePort]>,
    /// The families of its addresses; none if it does not say.
    pub families: Box<[Family]>,
}

/// Who says what a Service's endpoints are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointsBy {
    /// The cluster's own controller: it has a selector.
    Selector,
    /// Nobody: it is another name for a host elsewhere.
    ExternalName,
    /// Whoever writes slices.
    Anybody,
}

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    /// Its name; empty if it has none.
    pub name: Box<str>,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Box<str>,
    /// What is spoken there, if the Service says so.
    pub app_protocol: Option<Box<str>>,
    /// The port of the pods.
    pub target: TargetPort,
}

/// The port of the pods that a Service's port stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPort {
    /// The same at every pod.
    Number(u16),
    /// The one that a pod's containers declare under this name.
    Name(Box<str>),
}

impl From<Service> for ServiceRecord {
    fn from(service: Service) -> Self {
        let spec = service.spec.unwrap_or_default();
        let endpoints = endpoints_by(&spec);
        let ports = spec.ports.unwrap_or_default();
        let families = spec.ip_families.unwrap_or_default();
        Self {
            name: ObjectName::of(&service.metadata),
            uid: Uid::of(&service.metadata),
            endpoints,
            ports: match endpoints {
                EndpointsBy::Anybody => ports.into_iter().filter_map(port).collect(),
                EndpointsBy::Selector | EndpointsBy::ExternalName => Box::default(),
            },
            families: families.iter().filter_map(|name| Family::named(name)).collect(),
        }
    }
}

fn endpoints_by(spec: &ServiceSpec) -> EndpointsBy {
    if spec.type_.as_deref() == Some("ExternalName") {
        EndpointsBy::ExternalName
    } else if spec.selector.as_ref().is_some_and(|selector| !selector.is_empty()) {
        EndpointsBy::Selector
    } else {
        EndpointsBy::Anybody
    }
}

fn port(port: Port) -> Option<ServicePort> {
    let target = match port.target_port {
        Some(IntOrString::String(name)) => TargetPort::Name(name.into()),
        Some(IntOrString::Int(number)) if number != 0 => TargetPort::Number(u16::try_from(number).ok()?),
        Some(IntOrString::Int(_)) | None => TargetPort::Number(u16::try_from(port.port).ok()?),
    };
    Some(ServicePort {
        name: port.name.unwrap_or_default().into(),
        protocol: port.protocol.unwrap_or_else(|| "TCP".to_owned()).into(),
        app_protocol: port.app_protocol.map(Into::into),
        target,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(spec: Value) -> ServiceRecord {
        let service = json!({"metadata": {"namespace": "shop", "name": "web", "uid": "uid-web"}, "spec": spec});
        serde_json::from_value::<Service>(service).unwrap().into()
    }

    #[test]
    fn only_a_service_without_a_selector_takes_endpoints_from_anybody() {
        for (spec, endpoints) in [
            (json!({"selector": {"app": "web"}}), EndpointsBy::Selector),
            (json!({"type": "ExternalName", "externalName": "example.org"}), EndpointsBy::ExternalName),
            (json!({"selector": {}}), EndpointsBy::Anybody),
            (json!({}), EndpointsBy::Anybody),
        ] {
            assert_eq!(record(spec).endpoints, endpoints);
        }
    }

    #[test]
    fn a_port_stands_for_a_name_a_number_or_itself() {
        let ports = json!([
            {"name": "http", "port": 80, "targetPort": "web"},
            {"port": 81, "targetPort": 8081, "protocol": "UDP"},
            {"port": 82},
        ]);
        let record = record(json!({"ports": ports, "ipFamilies": ["IPv6", "IPv4"]}));
        let targets: Vec<_> = record.ports.iter().map(|port| (&*port.protocol, port.target.clone())).collect();
        let number = TargetPort::Number;
        assert_eq!(targets, [("TCP", TargetPort::Name("web".into())), ("UDP", number(8081)), ("TCP", number(82))]);
        assert_eq!(*record.families, [Family::V6, Family::V4]);
    }
}
