//! What a run puts into its namespace: the manifests of `deploy/lesson/`, told when t = 0 is and how fast time runs.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Container, HTTPGetAction, Namespace, Pod, PodSpec, Probe, Service};
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::jiff::Timestamp;
use kube::core::{NamespaceResourceScope, ObjectMeta};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Experiment, Probes, Route, Setting};
use crate::api::{ALIGNED_TO, Duration, ProbePolicy, ProbePolicySpec, RuleSpec};
use crate::engine::Span;
use crate::scenario::{RequestKind, Rotation};

/// The script that the replicas act out.
const SCRIPT_FILE: &str = include_str!("../../../deploy/lesson/01-script.yaml");
/// The replicas and their Service.
pub(super) const REPLICAS_FILE: &str = include_str!("../../../deploy/lesson/02-fake-app.yaml");
/// The slices of the replicas' Service, by their label.
pub(super) const REPLICAS_SLICES: &str = "kubernetes.io/service-name=fake";
/// The load and its rights.
pub(super) const LOAD_FILE: &str = include_str!("../../../deploy/lesson/04-load.yaml");

/// The name of the load's pod.
pub(super) const LOAD: &str = "load";
/// The replicas' Service: its address, as every container that comes after it has it in its environment, since a cluster
/// need not have a DNS.
const SERVICE: &str = "http://$(FAKE_SERVICE_HOST)";
/// The name of the pod of the shared stores, and of its Service.
pub(super) const STORES: &str = "stores";
/// Where they are.
const STORES_ADDRESS: &str = "$(STORES_SERVICE_HOST):$(STORES_SERVICE_PORT)";

/// Attempts come this part of a turn after its beginning, so that they see its faults as the model's do.
const ATTEMPTS_AT: u64 = 10;

/// What the kubelet gives a container that fails, as our policies do.
const KUBELET_GRACE_SECONDS: i64 = 1;

/// A manifest that is part of the program is broken.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is no YAML.
    #[error("a manifest of the lesson cannot be read")]
    Yaml(#[from] serde_yaml::Error),
    /// It is no such object.
    #[error("a manifest of the lesson makes no sense")]
    Json(#[from] serde_json::Error),
    /// It is not there.
    #[error("the lesson has no manifest of a {0}")]
    Missing(String),
}

/// Where a run takes place, and when.
pub(super) struct Manifests<'a> {
    pub experiment: &'a Experiment,
    pub namespace: &'a str,
    /// t = 0.
    pub start: Timestamp,
}

/// A namespace of its own for a run.
pub(super) fn namespace(experiment: &Experiment) -> Namespace {
    Namespace {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-{}-", experiment.prefix, experiment.setting.name)),
            labels: Some([("pod-security.kubernetes.io/enforce".to_owned(), "restricted".to_owned())].into()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }
}

impl Manifests<'_> {
    /// The one object of its kind in a file, as it stands there.
    pub fn given<K>(&self, file: &str) -> Result<K, ManifestError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned,
    {
        let kind = K::kind(&());
        let documents: Vec<Value> = serde_yaml::from_multiple(file)?;
        let found = documents.into_iter().find(|document| document["kind"] == *kind);
        let mut object: K = serde_json::from_value(found.ok_or_else(|| ManifestError::Missing(kind.into_owned()))?)?;
        object.meta_mut().namespace = Some(self.namespace.to_owned());
        Ok(object)
    }

    /// The scenario's text.
    pub fn script(&self) -> Result<ConfigMap, ManifestError> {
        let mut script: ConfigMap = self.given(SCRIPT_FILE)?;
        for text in script.data.iter_mut().flat_map(BTreeMap::values_mut) {
            self.experiment.setting.script.clone_into(text);
        }
        Ok(script)
    }

    /// The replicas.
    pub fn replicas(&self) -> Result<StatefulSet, ManifestError> {
        let mut set: StatefulSet = self.given(REPLICAS_FILE)?;
        let Some(spec) = &mut set.spec else { return Ok(set) };
        spec.replicas = i32::try_from(self.experiment.setting.scenario.replicas()).ok();
        let Some(pod) = &mut spec.template.spec else { return Ok(set) };
        for container in &mut pod.containers {
            self.tell(container, vec![("start", self.start.to_string())]);
            if self.has_stores() {
                self.tell(container, vec![("stores", STORES_ADDRESS.to_owned())]);
            }
            if self.experiment.probes == Probes::Kubelet {
                probe_by_kubelet(container, &self.experiment.setting.policy.spec);
            }
        }
        if self.experiment.probes == Probes::Kubelet {
            pod.readiness_gates = None;
            pod.termination_grace_period_seconds = Some(KUBELET_GRACE_SECONDS);
        }
        Ok(set)
    }

    /// The shared stores, if the scenario has any use for them: a pod as the replicas have it, and its Service.
    pub fn stores(&self) -> Result<Option<(Service, Pod)>, ManifestError> {
        if !self.has_stores() {
            return Ok(None);
        }
        let labels = Some([("app".to_owned(), STORES.to_owned())].into());
        let mut service: Service = self.given(REPLICAS_FILE)?;
        service.metadata.name = Some(STORES.to_owned());
        if let Some(spec) = &mut service.spec {
            spec.selector.clone_from(&labels);
        }
        let set: StatefulSet = self.given(REPLICAS_FILE)?;
        let spec = set.spec.and_then(|set| set.template.spec);
        let mut spec = PodSpec { readiness_gates: None, ..spec.unwrap_or_default() };
        for container in &mut spec.containers {
            self.tell(container, vec![("start", self.start.to_string())]);
            for serve in container.args.iter_mut().flatten().take(1) {
                "store".clone_into(serve);
            }
        }
        let metadata = ObjectMeta { name: Some(STORES.to_owned()), labels, ..service.metadata.clone() };
        Ok(Some((service, Pod { metadata, spec: Some(spec), status: None })))
    }

    /// The load.
    pub fn load(&self) -> Result<Pod, ManifestError> {
        let Setting { scenario, route, .. } = &self.experiment.setting;
        let job: Job = self.given(LOAD_FILE)?;
        let mut spec = job.spec.and_then(|job| job.template.spec);
        let requests = scenario.requests(scenario.requests_from());
        let requests = RequestKind::ALL.map(|kind| format!("{}={}", kind.name(), requests[kind]));
        let mut options = vec![
            ("start", self.start.to_string()),
            ("turns", scenario.turns().to_string()),
            ("turn", scenario.turn().to_string()),
            ("requests", requests.join(",")),
            ("requests-from", (scenario.requests_from() - scenario.first_turn()).to_string()),
            ("rotation", rotation(scenario.rotation()).to_owned()),
        ];
        match route {
            Route::Endpoints => {}
            Route::Address => options.push(("url", SERVICE.to_owned())),
        }
        if self.has_stores() {
            options.push(("stores", STORES_ADDRESS.to_owned()));
        }
        for container in spec.iter_mut().flat_map(|pod| &mut pod.containers) {
            container.args.get_or_insert_default().retain(|arg| !arg.starts_with("--rate="));
            self.tell(container, options.clone());
        }
        Ok(Pod { metadata: ObjectMeta { name: Some(LOAD.to_owned()), ..job.metadata }, spec, status: None })
    }

    /// The load's rights.
    pub fn binding(&self) -> Result<RoleBinding, ManifestError> {
        let mut binding: RoleBinding = self.given(LOAD_FILE)?;
        for subject in binding.subjects.iter_mut().flatten() {
            subject.namespace = Some(self.namespace.to_owned());
        }
        Ok(binding)
    }

    /// The policy, with its attempts on the scenario's clock.
    pub fn policy(&self) -> ProbePolicy {
        let Experiment { setting: Setting { scenario, policy, .. }, speed, .. } = self.experiment;
        let late = speed.shorten(Span::from_nanos(scenario.turn().as_nanos() / ATTEMPTS_AT));
        let mut policy = policy.clone();
        policy.metadata.namespace = Some(self.namespace.to_owned());
        let aligned = self.start + std::time::Duration::from(late);
        policy.annotations_mut().insert(ALIGNED_TO.to_owned(), aligned.to_string());
        policy
    }

    fn has_stores(&self) -> bool {
        self.experiment.setting.scenario.uses_stores()
    }

    /// Puts the image and these options, and the speed, into a container in place of what it has.
    fn tell(&self, container: &mut Container, options: Vec<(&str, String)>) {
        container.image = Some(self.experiment.image.clone());
        let args = container.args.get_or_insert_default();
        for (option, value) in options.into_iter().chain([("speed", self.experiment.speed.to_string())]) {
            let option = format!("--{option}=");
            args.retain(|arg| !arg.starts_with(&option));
            args.push(option + &value);
        }
    }
}

/// In the words of the load.
fn rotation(rotation: Rotation) -> &'static str {
    match rotation {
        Rotation::EachTurn => "each-turn",
        Rotation::Continuous => "continuous",
    }
}

/// The same rules, asked by the kubelet.
fn probe_by_kubelet(container: &mut Container, spec: &ProbePolicySpec) {
    let restarting = |rule: &RuleSpec| Probe {
        termination_grace_period_seconds: Some(KUBELET_GRACE_SECONDS),
        ..kubelet_probe(rule)
    };
    container.startup_probe = spec.startup.as_ref().map(restarting);
    container.liveness_probe = spec.liveness.as_ref().map(restarting);
    container.readiness_probe = spec.readiness.as_ref().map(kubelet_probe);
}

fn kubelet_probe(rule: &RuleSpec) -> Probe {
    let http = rule.http_get.as_ref();
    Probe {
        http_get: http.map(|get| HTTPGetAction {
            path: Some(get.path.clone()),
            port: get.port.clone(),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(seconds(rule.period)),
        timeout_seconds: Some(seconds(rule.timeout)),
        failure_threshold: Some(rule.failure_threshold),
        success_threshold: Some(rule.success_threshold),
        ..Probe::default()
    }
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.span().as_nanos() / Span::from_secs(1).as_nanos()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::cluster_world::pace::at_speed;
    use crate::lesson::comparison::Choice;
    use crate::scenario::ScenarioFile;

    fn experiment(probes: Probes, speed: &str) -> Experiment {
        let policy = crate::lesson::Setting::PlusStartup.policy().unwrap();
        let speed = speed.parse().unwrap();
        Experiment {
            setting: Setting {
                title: "plus startup",
                name: "plus-startup",
                scenario: crate::lesson::Setting::scenario().unwrap(),
                script: "the script",
                policy: ProbePolicy { spec: at_speed(policy.spec.clone(), speed), ..policy },
                route: Route::Endpoints,
            },
            speed,
            probes,
            image: "localhost/other:1".to_owned(),
            prefix: "lesson".to_owned(),
        }
    }

    fn manifests(experiment: &Experiment) -> Manifests<'_> {
        Manifests { experiment, namespace: "lesson-x", start: "2026-03-01T12:00:00Z".parse().unwrap() }
    }

    fn template(set: &StatefulSet) -> &k8s_openapi::api::core::v1::PodSpec {
        set.spec.as_ref().unwrap().template.spec.as_ref().unwrap()
    }

    #[test]
    fn the_replicas_act_out_the_script_from_the_start_on_behind_their_gate() {
        let experiment = experiment(Probes::Own, "2");
        let script = manifests(&experiment).script().unwrap().data.unwrap();
        assert_eq!(script["scenario.yaml"], "the script");
        let set = manifests(&experiment).replicas().unwrap();
        assert_eq!(set.metadata.namespace.as_deref(), Some("lesson-x"));
        assert_eq!(set.spec.as_ref().unwrap().replicas, Some(8));
        let pod = template(&set);
        assert_eq!(pod.readiness_gates.as_ref().unwrap()[0].condition_type, crate::api::GATE);
        assert_eq!(pod.containers[0].image.as_deref(), Some("localhost/other:1"));
        assert!(pod.containers[0].liveness_probe.is_none());
        let args = pod.containers[0].args.as_ref().unwrap();
        assert_eq!(args[0], "serve");
        assert_eq!(args.iter().filter(|arg| arg.starts_with("--start=")).count(), 1);
        assert!(args.contains(&"--start=2026-03-01T12:00:00Z".to_owned()), "{args:?}");
        assert!(args.contains(&"--speed=2".to_owned()), "{args:?}");
    }

    #[test]
    fn under_the_kubelet_the_same_rules_are_probes_and_there_is_no_gate() {
        let experiment = experiment(Probes::Kubelet, "1");
        let set = manifests(&experiment).replicas().unwrap();
        let pod = template(&set);
        assert!(pod.readiness_gates.is_none());
        let app = &pod.containers[0];
        let startup = app.startup_probe.as_ref().unwrap();
        assert_eq!(startup.http_get.as_ref().unwrap().path.as_deref(), Some("/started"));
        assert_eq!((startup.period_seconds, startup.failure_threshold), (Some(5), Some(6)));
        assert_eq!((startup.timeout_seconds, startup.termination_grace_period_seconds), (Some(1), Some(1)));
        let readiness = app.readiness_probe.as_ref().unwrap();
        assert_eq!((readiness.period_seconds, readiness.termination_grace_period_seconds), (Some(2), None));
    }

    #[test]
    fn the_load_sends_what_the_scenario_says() {
        let experiment = experiment(Probes::Own, "2");
        let load = manifests(&experiment).load().unwrap();
        assert_eq!(load.name_any(), LOAD);
        let spec = load.spec.unwrap();
        assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
        assert_eq!(
            spec.containers[0].args.as_ref().unwrap(),
            &[
                "load",
                "--service=fake",
                "--start=2026-03-01T12:00:00Z",
                "--turns=180",
                "--turn=1s",
                "--requests=plain=50,read=0,write=0,batch=0",
                "--requests-from=0",
                "--rotation=each-turn",
                "--speed=2"
            ]
        );
    }

    #[test]
    fn requests_to_the_service_go_to_its_address_and_no_kind_is_forgotten() {
        let mut experiment = experiment(Probes::Own, "1");
        let text = include_str!("../../../lessons/depth/scenario.yaml").replace("turns:", "requestsFrom: 7\nturns:");
        experiment.setting.scenario = ScenarioFile::parse("scenario.yaml", &text).unwrap();
        experiment.setting.route = Route::Address;
        let args = manifests(&experiment).load().unwrap().spec.unwrap().containers.remove(0).args.unwrap();
        for option in [
            "--turn=2s",
            "--requests=plain=0,read=8,write=2,batch=1",
            "--requests-from=6",
            "--rotation=continuous",
            "--url=http://$(FAKE_SERVICE_HOST)",
            "--stores=$(STORES_SERVICE_HOST):$(STORES_SERVICE_PORT)",
        ] {
            assert!(args.iter().any(|arg| arg == option), "{option}: {args:?}");
        }
    }

    #[test]
    fn shared_stores_are_a_pod_with_a_service_that_the_replicas_are_told() {
        let mut experiment = experiment(Probes::Own, "1");
        assert_eq!(manifests(&experiment).stores().unwrap(), None);
        let text = include_str!("../../../lessons/depth/scenario.yaml");
        experiment.setting.scenario = ScenarioFile::parse("scenario.yaml", text).unwrap();
        let (service, pod) = manifests(&experiment).stores().unwrap().unwrap();
        assert_eq!(service.spec.unwrap().selector.as_ref(), Some(pod.labels()));
        assert_eq!((service.metadata.name.as_deref(), pod.name_any().as_str()), (Some(STORES), STORES));
        let spec = pod.spec.unwrap();
        assert_eq!(spec.readiness_gates, None);
        let args = spec.containers[0].args.as_ref().unwrap();
        assert_eq!((args[0].as_str(), args[1].as_str()), ("store", "--script=/script/scenario.yaml"));
        let set = manifests(&experiment).replicas().unwrap();
        assert_eq!(set.spec.as_ref().unwrap().replicas, Some(3));
        let args = template(&set).containers[0].args.as_ref().unwrap();
        assert!(args.contains(&"--stores=$(STORES_SERVICE_HOST):$(STORES_SERVICE_PORT)".to_owned()), "{args:?}");
    }

    #[test]
    fn the_load_has_its_rights_in_the_namespace_of_the_run() {
        let experiment = experiment(Probes::Own, "1");
        let binding = manifests(&experiment).binding().unwrap();
        assert_eq!(binding.subjects.unwrap()[0].namespace.as_deref(), Some("lesson-x"));
    }

    #[test]
    fn attempts_come_a_tenth_of_a_turn_after_its_beginning() {
        let experiment = experiment(Probes::Own, "2");
        let policy = manifests(&experiment).policy();
        let aligned = crate::api::aligned_to(&policy.metadata).unwrap().unwrap();
        assert_eq!(aligned, "2026-03-01T12:00:00.05Z".parse::<Timestamp>().unwrap());
    }

    #[test]
    fn every_run_has_a_restricted_namespace_of_its_own() {
        let namespace = namespace(&experiment(Probes::Own, "1"));
        assert_eq!(namespace.metadata.generate_name.as_deref(), Some("lesson-plus-startup-"));
        assert_eq!(namespace.labels()["pod-security.kubernetes.io/enforce"], "restricted");
    }
}
