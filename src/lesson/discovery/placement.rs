//! Where the addresses come from: four placements, and what came of a run of one, in any world.

use std::borrow::Cow;
use std::path::Path;

use clap::ValueEnum;

use crate::api::yaml::{self, YamlError};
use crate::model::discovery::{self, Discovery, Window};
use crate::registry::Resolve;
use crate::report::Cell;
use crate::scenario::{Scenario, ScenarioFile};

/// A placement of the lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Placement {
    /// Every consumer has a list that nobody changes
    StaticList,
    /// The registry is asked at every request
    Registry,
    /// What the registry says is kept for a while
    RegistryCache,
    /// The one that stops takes its own entry out of the registry first
    RegistryGraceful,
}

/// A scenario and its name in the table.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Its name.
    pub title: String,
    /// What happens.
    pub scenario: Scenario,
    /// The text that this stands in.
    pub text: Cow<'static, str>,
}

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// From the death to the end of the turn with the last request to the dead address, in milliseconds; none if that
    /// address was still in use at the end.
    pub detection_window_ms: Option<u64>,
    /// Requests to the dead address.
    pub to_dead_address: u64,
    /// Requests to the replica that joined.
    pub to_new_replica: u64,
    /// Places where addresses are written down.
    pub configuration_points: u32,
}

/// The names of the columns.
pub const COLUMNS: [&str; 4] = ["detection_window_ms", "to_dead_address", "to_new_replica", "configuration_points"];

impl Placement {
    /// Every placement, in the order of the lesson.
    pub const ALL: [Self; 4] = [Self::StaticList, Self::Registry, Self::RegistryCache, Self::RegistryGraceful];

    /// Its name in the lesson's table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::StaticList => "static list",
            Self::Registry => "registry",
            Self::RegistryCache => "registry + cache 800",
            Self::RegistryGraceful => "registry + graceful shutdown",
        }
    }

    /// The placement with its name in the lesson's table.
    pub fn placed(self) -> Result<Placed, YamlError> {
        let (_, text) = self.file();
        Ok(Placed { title: self.title().to_owned(), scenario: self.scenario()?, text: Cow::Borrowed(text) })
    }

    /// Its scenario, as it stands in its file.
    pub fn scenario(self) -> Result<Scenario, YamlError> {
        let (name, text) = self.file();
        ScenarioFile::parse(name, text)
    }

    const fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::StaticList => {
                ("lessons/discovery/static-list.yaml", include_str!("../../../lessons/discovery/static-list.yaml"))
            }
            Self::Registry => {
                ("lessons/discovery/registry.yaml", include_str!("../../../lessons/discovery/registry.yaml"))
            }
            Self::RegistryCache => (
                "lessons/discovery/registry-cache.yaml",
                include_str!("../../../lessons/discovery/registry-cache.yaml"),
            ),
            Self::RegistryGraceful => (
                "lessons/discovery/registry-graceful.yaml",
                include_str!("../../../lessons/discovery/registry-graceful.yaml"),
            ),
        }
    }
}

impl Placed {
    /// The scenario in a file, by whose name it goes.
    pub fn read(file: &Path) -> Result<Self, YamlError> {
        let (title, text) = (file.display().to_string(), yaml::read_text(file)?);
        Ok(Self { scenario: ScenarioFile::parse(&title, &text)?, title, text: Cow::Owned(text) })
    }
}

impl Figures {
    /// What the model says of a scenario.
    pub fn modelled(scenario: &Scenario) -> Self {
        Self::new(scenario, &discovery::run(scenario))
    }

    /// What came of a run of a scenario.
    pub fn new(scenario: &Scenario, run: &Discovery) -> Self {
        Self {
            detection_window_ms: match run.window() {
                Window::Noticed(span) => Some(span.as_nanos() / 1_000_000),
                Window::Manual => None,
            },
            to_dead_address: run.to_dead,
            to_new_replica: run.to_new,
            configuration_points: match scenario.resolve() {
                Resolve::Static => scenario.consumers().get(),
                Resolve::Registry | Resolve::Cached(_) => 1,
            },
        }
    }

    /// The figures by [`COLUMNS`].
    pub fn cells(&self) -> [Cell; 4] {
        [
            self.detection_window_ms.map_or(Cell::Nothing("manual"), Cell::Count),
            Cell::Count(self.to_dead_address),
            Cell::Count(self.to_new_replica),
            Cell::Count(self.configuration_points.into()),
        ]
    }
}
