//! The fleet behind a Service, as its EndpointSlices have it.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;

use super::LoadError;
use super::fleet::{Fleet, Member};

/// Watches a Service's slices with the credentials at hand; the first list is complete when this returns.
pub(super) async fn follow(name: &str, namespace: Option<&str>) -> Result<watch::Receiver<Fleet>, LoadError> {
    let client = Client::try_default().await?;
    let namespace = namespace.unwrap_or(client.default_namespace());
    let api = Api::<EndpointSlice>::namespaced(client.clone(), namespace);
    let config = watcher::Config::default().labels(&format!("kubernetes.io/service-name={name}"));
    let mut events = watcher(api, config).default_backoff().boxed();
    let mut slices = Slices::default();
    while !slices.complete {
        match events.try_next().await? {
            Some(event) => slices.take(event),
            None => break,
        }
    }
    let (sender, receiver) = watch::channel(slices.fleet());
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => slices.take(event),
                Err(error) => eprintln!("watching the EndpointSlices: {error}"),
            }
            if slices.complete {
                let fleet = slices.fleet();
                sender.send_if_modified(|known| {
                    *known != fleet && {
                        *known = fleet;
                        true
                    }
                });
            }
        }
    });
    Ok(receiver)
}

/// The slices by name.
#[derive(Default)]
struct Slices {
    known: BTreeMap<String, EndpointSlice>,
    complete: bool,
}

impl Slices {
    fn take(&mut self, event: watcher::Event<EndpointSlice>) {
        match event {
            watcher::Event::Init => *self = Self::default(),
            watcher::Event::InitApply(slice) | watcher::Event::Apply(slice) => {
                self.known.insert(slice.name_any(), slice);
            }
            watcher::Event::InitDone => self.complete = true,
            watcher::Event::Delete(slice) => {
                self.known.remove(&slice.name_any());
            }
        }
    }

    fn fleet(&self) -> Fleet {
        Fleet::new(self.known.values().flat_map(members).collect())
    }
}

fn members(slice: &EndpointSlice) -> Vec<Member> {
    let port = slice.ports.iter().flatten().find_map(|port| port.port).unwrap_or(80);
    let mut members = Vec::new();
    for endpoint in &slice.endpoints {
        let Some(host) = endpoint.addresses.first() else { continue };
        let address = if slice.address_type == "IPv6" { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let pod = endpoint.target_ref.as_ref().and_then(|target| target.name.clone());
        // A missing condition means ready.
        let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true);
        members.push(Member { pod: pod.unwrap_or_else(|| address.clone()), address, ready });
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(name: &str, endpoints: serde_json::Value) -> EndpointSlice {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": name}, "addressType": "IPv4", "ports": [{"port": 8080}], "endpoints": endpoints,
        }))
        .unwrap()
    }

    #[test]
    fn an_endpoint_is_ready_unless_its_slice_says_otherwise() {
        let endpoints = serde_json::json!([
            {"addresses": ["10.0.0.2"], "targetRef": {"name": "app-1"}, "conditions": {"ready": false}},
            {"addresses": ["10.0.0.1"], "targetRef": {"name": "app-0"}},
        ]);
        let mut slices = Slices::default();
        slices.take(watcher::Event::InitApply(slice("a", endpoints)));
        let fleet = slices.fleet();
        assert_eq!(
            fleet.members().iter().map(|member| member.address.as_str()).collect::<Vec<_>>(),
            ["10.0.0.1:8080", "10.0.0.2:8080"]
        );
        assert_eq!((fleet.pool_size(), fleet.has_ready("app-0")), (1, true));
    }

    #[test]
    fn a_deleted_slice_takes_its_endpoints_with_it() {
        let one = slice("a", serde_json::json!([{"addresses": ["10.0.0.1"]}]));
        let mut slices = Slices::default();
        slices.take(watcher::Event::Apply(one.clone()));
        slices.take(watcher::Event::Delete(one));
        assert_eq!(slices.fleet(), Fleet::default());
    }
}
