//! A scenario as processes can play it.

use std::sync::Arc;

use crate::api::SpecError;
use crate::scenario::Scenario;

/// The most replicas: each is a process of its own.
const MAX_REPLICAS: usize = 200;

/// A scenario and its text, which the processes read.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) scenario: Scenario,
    pub(super) text: Arc<str>,
}

impl Script {
    /// The script of a scenario that stands in this text.
    ///
    /// # Errors
    /// If it asks for what only the model can do, with the field that does.
    pub fn new(scenario: Scenario, text: &str) -> Result<Self, SpecError> {
        let refuse = |path: &str, sentence: String| Err(SpecError { path: path.to_owned(), sentence });
        if scenario.propagation().is_some() {
            return refuse("propagation", "only the model knows how decisions propagate: leave it out".to_owned());
        }
        if scenario.cuts_paths() {
            return refuse("faults", "only the model can cut the path to a node: leave that fault out".to_owned());
        }
        if scenario.replicas() > MAX_REPLICAS {
            let sentence =
                format!("{} processes are too many for one machine: at most {MAX_REPLICAS}", scenario.replicas());
            return refuse("replicas", sentence);
        }
        Ok(Self { scenario, text: Arc::from(text) })
    }

    /// The scenario, as it is written.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
