//! What a run puts into its namespace: the manifests of `deploy/lesson/`, told when t = 0 is and how fast time runs.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Namespace, Pod, Probe};
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::jiff::Timestamp;
use kube::core::{NamespaceResourceScope, ObjectMeta};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Experiment, Probes};
use crate::api::{ALIGNED_TO, Duration, ProbePolicy, ProbePolicySpec, RuleSpec};
use crate::engine::Span;

/// The script that the replicas act out.
pub(super) const SCRIPT_FILE: &str = include_str!("../../../deploy/lesson/01-script.yaml");
/// The replicas and their Service.
pub(super) const REPLICAS_FILE: &str = include_str!("../../../deploy/lesson/02-fake-app.yaml");
/// The load and its rights.
pub(super) const LOAD_FILE: &str = include_str!("../../../deploy/lesson/04-load.yaml");

/// The name of the load's pod.
pub(super) const LOAD: &str = "load";

/// Attempts come this part of a turn after its beginning, so that they see its faults as the model's do.
const ATTEMPTS_AT: u64 = 10;

/// What the kubelet gives a container that fails, as our policies do.
const KUBELET_GRACE_SECONDS: i64 = 1;

/// A manifest that is part of the program is broken.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is no YAML.
    #[error("a manifest of the lesson cannot be read: {0}")]
    Yaml(#[from] serde_yaml::Error),
    /// It is no such object.
    #[error("a manifest of the lesson makes no sense: {0}")]
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
            generate_name: Some(format!("{}-{}-", experiment.prefix, experiment.setting.name())),
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

    /// The replicas.
    pub fn replicas(&self) -> Result<StatefulSet, ManifestError> {
        let mut set: StatefulSet = self.given(REPLICAS_FILE)?;
        for pod in set.spec.iter_mut().filter_map(|set| set.template.spec.as_mut()) {
            for container in &mut pod.containers {
                self.tell(container, [("start", self.start.to_string())]);
                if self.experiment.probes == Probes::Kubelet {
                    probe_by_kubelet(container, &self.experiment.policy.spec);
                }
            }
            if self.experiment.probes == Probes::Kubelet {
                pod.readiness_gates = None;
                pod.termination_grace_period_seconds = Some(KUBELET_GRACE_SECONDS);
            }
        }
        Ok(set)
    }

    /// The load.
    pub fn load(&self) -> Result<Pod, ManifestError> {
        let scenario = &self.experiment.scenario;
        let job: Job = self.given(LOAD_FILE)?;
        let mut spec = job.spec.and_then(|job| job.template.spec);
        let second = Span::from_secs(1).as_nanos();
        let rate = u64::from(scenario.requests(scenario.requests_from()).plain) * second / scenario.turn().as_nanos();
        for container in spec.iter_mut().flat_map(|pod| &mut pod.containers) {
            let options = [
                ("start", self.start.to_string()),
                ("rate", rate.to_string()),
                ("turns", scenario.turns().to_string()),
                ("turn", scenario.turn().to_string()),
            ];
            self.tell(container, options);
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
        let Experiment { scenario, speed, policy, .. } = self.experiment;
        let late = speed.shorten(Span::from_nanos(scenario.turn().as_nanos() / ATTEMPTS_AT));
        let mut policy = policy.clone();
        policy.metadata.namespace = Some(self.namespace.to_owned());
        let aligned = self.start + std::time::Duration::from(late);
        policy.annotations_mut().insert(ALIGNED_TO.to_owned(), aligned.to_string());
        policy
    }

    /// Puts the image and these options, and the speed, into a container in place of what it has.
    fn tell<const N: usize>(&self, container: &mut Container, options: [(&str, String); N]) {
        container.image = Some(self.experiment.image.clone());
        let args = container.args.get_or_insert_default();
        for (option, value) in options.into_iter().chain([("speed", self.experiment.speed.to_string())]) {
            let option = format!("--{option}=");
            args.retain(|arg| !arg.starts_with(&option));
            args.push(option + &value);
        }
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
    use crate::lesson::Setting;
    use crate::lesson::replicas::settings::{self, at_speed};

    fn experiment(probes: Probes, speed: &str) -> Experiment {
        let setting = Setting::PlusStartup;
        let speed = speed.parse().unwrap();
        let mut policy = setting.policy().unwrap();
        policy.spec = at_speed(policy.spec, speed);
        Experiment {
            setting,
            scenario: settings::scenario().unwrap(),
            policy,
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
                "--rate=50",
                "--turns=180",
                "--turn=1s",
                "--speed=2"
            ]
        );
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
