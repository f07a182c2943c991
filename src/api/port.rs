//! The port that a handler asks.

use std::fmt;
use std::num::NonZeroU16;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A port of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// By number, whether or not the container declares it.
    Number(NonZeroU16),
    /// By the name under which the container declares it.
    Name(String),
}

impl Port {
    /// A number from 1 to 65535, or a name as Kubernetes allows it for a container's port.
    pub fn parse(port: &IntOrString) -> Option<Self> {
        match port {
            IntOrString::Int(number) => u16::try_from(*number).ok().and_then(NonZeroU16::new).map(Self::Number),
            IntOrString::String(name) => is_port_name(name).then(|| Self::Name(name.clone())),
        }
    }
}

fn is_port_name(name: &str) -> bool {
    name.len() <= 15
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && name.bytes().any(|b| b.is_ascii_lowercase())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}
