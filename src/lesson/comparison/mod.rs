//! A lesson that compares settings: policies for one scenario, whose figures stand beside each other.

mod command;
mod pods;
mod processes;

use std::fmt::Debug;

use clap::ValueEnum;

pub use command::{Args, Plan};

use super::LessonError;
use super::cluster_world::Observation;
use crate::api::ProbePolicy;
use crate::api::yaml::YamlError;
use crate::local::Run;
use crate::report::{Cell, Report};
use crate::scenario::{Scenario, ScenarioFile};

/// One of the settings that a lesson compares.
pub trait Choice: ValueEnum + Debug + Copy + Send + Sync + 'static {
    /// The name of the lesson.
    const LESSON: &'static str;
    /// The text of the scenario that all settings share.
    const SCENARIO: &'static str;
    /// The columns of the figures.
    const COLUMNS: &'static [&'static str];

    /// Its name in the lesson's table.
    fn title(self) -> &'static str;

    /// Its name where blanks are not welcome.
    fn name(self) -> &'static str;

    /// Its policy, as it stands in its file.
    fn policy(self) -> Result<ProbePolicy, YamlError>;

    /// What the model says of it, by [`COLUMNS`](Self::COLUMNS).
    fn in_model(self, scenario: &Scenario) -> Result<Vec<Cell>, LessonError>;

    /// What a run on processes came to, by [`COLUMNS`](Self::COLUMNS).
    fn on_processes(self, run: &Run) -> Vec<Cell>;

    /// What a run of the scenario on pods came to, by [`COLUMNS`](Self::COLUMNS).
    fn on_pods(self, scenario: &Scenario, seen: &Observation) -> Vec<Cell>;

    /// The scenario that all settings share.
    fn scenario() -> Result<Scenario, YamlError> {
        ScenarioFile::parse(&format!("lessons/{}/scenario.yaml", Self::LESSON), Self::SCENARIO)
    }
}

/// A table of a lesson, out of the model.
pub trait ModelTable<C>: ValueEnum + Debug + Copy + Send + Sync + 'static {
    /// The one with a row for each setting that the model prints if nobody asks for another.
    const OF_SETTINGS: Self;

    /// Whether it has a row for each setting.
    fn is_of_settings(self) -> bool;

    /// The table, of these settings where it is of settings.
    fn report(self, scenario: &Scenario, settings: &[C]) -> Result<Report, LessonError>;
}
