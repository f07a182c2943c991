//! Why a lesson does not take place.

use super::cluster_world::ClusterError;
use crate::api::SpecError;
use crate::api::yaml::YamlError;
use crate::local::LocalError;
use crate::model::ModelError;
use crate::report::NotDelivered;
use crate::scenario::Speed;

/// What was asked for makes no sense; nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum NoPlan {
    /// Something that only the cluster has a use for.
    #[error("{0} is for the cluster: add --world cluster, or leave it out")]
    OnlyOnCluster(&'static str),
    /// The model says the same every time.
    #[error("--runs is for what is measured: leave it out, or run in another world")]
    NothingToMeasure,
    /// The published tables come from the model.
    #[error("--table prints a table of the model: leave out --world {0}")]
    TableElsewhere(&'static str),
    /// The table is not about the settings.
    #[error("--setting chooses among the settings: leave it out for this table")]
    SettingOfTable,
    /// The kubelet counts in whole seconds.
    #[error("--probes kubelet runs at speed 1 only, since the kubelet's periods are whole seconds: leave out --speed")]
    KubeletInAHurry,
    /// The kubelet has no gate.
    #[error("--probes kubelet has no gate whose way to the traffic could be measured: leave it out")]
    NoGate,
    /// Who probes is what is compared.
    #[error("this lesson compares who probes: leave out --probes")]
    BothProbe,
    /// Nothing on a cluster acts out what a scenario has.
    #[error(
        "the scenario of the rule {rule} {what}, which only the model does: leave out --world cluster, or this rule"
    )]
    OnlyInModel {
        /// Which rule.
        rule: &'static str,
        /// What its scenario does.
        what: &'static str,
    },
    /// A policy cannot be that fast.
    #[error("--speed {speed} is too fast for the setting {setting}: {error}")]
    TooFast {
        /// The speed asked for.
        speed: Speed,
        /// The first setting that cannot follow.
        setting: String,
        /// What is wrong with its policy then.
        error: SpecError,
    },
    /// A file that is part of the program is broken.
    #[error(transparent)]
    Lesson(#[from] LessonError),
}

/// Why a lesson failed.
#[derive(Debug, thiserror::Error)]
pub enum LessonError {
    /// A file of the lesson cannot be read.
    #[error(transparent)]
    File(#[from] YamlError),
    /// A policy makes no sense.
    #[error(transparent)]
    Policy(#[from] SpecError),
    /// A policy cannot be run in the model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A policy does not say how it is checked whether a replica is ready.
    #[error("{file}: spec.readiness: must be there, since this lesson is about how replicas are checked")]
    NoReadiness {
        /// The policy's file.
        file: String,
    },
    /// The cluster cannot run a lesson.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A run went wrong.
    #[error("setting {setting}")]
    Run {
        /// Which setting.
        setting: String,
        /// What went wrong.
        #[source]
        error: Box<ClusterError>,
    },
    /// A run on processes of this machine went wrong.
    #[error("setting {setting}")]
    LocalRun {
        /// Which setting.
        setting: String,
        /// What went wrong.
        #[source]
        error: Box<LocalError>,
    },
    /// The system does not tell which file this program is.
    #[error("cannot start processes of this program: {0}")]
    Program(std::io::Error),
    /// It was told to stop.
    #[error("interrupted")]
    Interrupted,
    /// The table cannot be delivered.
    #[error(transparent)]
    Delivery(#[from] NotDelivered),
    /// A figure cannot be written as JSON.
    #[error("cannot write the table")]
    Json(#[from] serde_json::Error),
}
