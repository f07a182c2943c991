//! What people say about the cluster on the command line.

use clap::ValueEnum;

use super::pace::at_speed;
use crate::api::ProbePolicy;
use crate::engine::Phase;
use crate::lesson::NoPlan;
use crate::scenario::{Scenario, Speed};

/// The image of the fake app that is built from these sources.
const IMAGE: &str = concat!("localhost/fake-app:", env!("CARGO_PKG_VERSION"));

/// Who probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Probes {
    /// Our controller, by the setting's policy
    #[default]
    Own,
    /// The kubelet, by the same rules in the pod template, without a policy
    Kubelet,
}

/// How a lesson is run on a cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// Who probes, on the cluster [default: own]
    #[arg(long, value_enum)]
    probes: Option<Probes>,
    /// On the cluster, begin the names of the namespaces with this [default: lesson]
    #[arg(long, value_name = "PREFIX")]
    namespace: Option<String>,
    /// On the cluster, the image of the fake app [default: localhost/fake-app:VERSION]
    #[arg(long)]
    image: Option<String>,
}

/// A setting of a lesson, for every speed and prober.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What people call it.
    pub title: &'static str,
    /// What the cluster calls it: a part of the names of namespaces.
    pub name: &'static str,
    /// The scenario, as it is written.
    pub scenario: Scenario,
    /// Its text, for the fake app.
    pub script: &'static str,
    /// The policy.
    pub policy: ProbePolicy,
    /// How requests find the replicas.
    pub route: Route,
}

/// How requests find the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Those who send them read the Service's EndpointSlices.
    Endpoints,
    /// Those who send them use the Service's address.
    Address,
}

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The setting, with its policy at the speed.
    pub setting: Setting,
    /// How fast everything runs.
    pub speed: Speed,
    /// Who probes.
    pub probes: Probes,
    /// The image of the fake app.
    pub image: String,
    /// What the names of namespaces begin with.
    pub prefix: String,
}

impl Options {
    /// Who probes.
    pub fn probes(&self) -> Probes {
        self.probes.unwrap_or_default()
    }

    /// The same, whoever was to probe.
    pub fn asked_by(&self, probes: Probes) -> Self {
        Self { probes: Some(probes), ..self.clone() }
    }

    /// Refuses a choice of who probes where both do.
    pub fn no_prober_given(&self) -> Result<(), NoPlan> {
        if self.probes.is_some() { Err(NoPlan::BothProbe) } else { Ok(()) }
    }

    /// Refuses every option in a world that has no use for it.
    pub fn none_given(&self) -> Result<(), NoPlan> {
        let given = [
            ("--probes", self.probes.is_some()),
            ("--namespace", self.namespace.is_some()),
            ("--image", self.image.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(NoPlan::OnlyOnCluster(option)),
            None => Ok(()),
        }
    }

    /// How to run a setting at a speed.
    ///
    /// # Errors
    /// If the policy, or who probes, cannot follow the speed.
    pub fn experiment(&self, setting: Setting, speed: Speed) -> Result<Experiment, NoPlan> {
        if self.probes() == Probes::Kubelet && speed != Speed::REAL {
            return Err(NoPlan::KubeletInAHurry);
        }
        let spec = at_speed(setting.policy.spec, speed);
        if let Err(error) = spec.parse(1, Phase::Spread) {
            return Err(NoPlan::TooFast { speed, setting: setting.title.to_owned(), error });
        }
        Ok(Experiment {
            setting: Setting { policy: ProbePolicy { spec, ..setting.policy }, ..setting },
            speed,
            probes: self.probes(),
            image: self.image.clone().unwrap_or_else(|| IMAGE.to_owned()),
            prefix: self.namespace.clone().unwrap_or_else(|| "lesson".to_owned()),
        })
    }
}
