//! Every combination of the values that the varied fields take, and the policy that each of them makes.

use std::ops::Range;
use std::str::FromStr;

use super::cores::on_all_cores;
use super::field::{Field, NoField, NotAValue};
use super::values::{NoValues, Values};
use crate::api::{ParsedPolicy, ProbePolicySpec, SpecError};
use crate::engine::{Phase, Time};
use crate::model::{self, ModelError, Run};
use crate::scenario::Scenario;

/// The most policies of one sweep.
const MAX: usize = 1_000_000;

/// A field and the values that it takes, as written: `liveness.period=2s,5s,10s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The field, from the spec.
    pub field: String,
    /// What it takes in turn.
    pub values: Values,
}

/// Policies that all make sense and can all be run on the scenario. They are numbered from 0, the last field's values
/// taking turns fastest.
#[derive(Clone, Debug)]
pub struct Space {
    scenario: Scenario,
    base: ProbePolicySpec,
    axes: Vec<Axis>,
}

/// Why a text is no axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAxis {
    /// It has no field and values.
    #[error("must be a field, = and its values, such as liveness.period=2s,5s,10s")]
    Malformed,
    /// Its values make no sense.
    #[error(transparent)]
    Values(#[from] NoValues),
}

/// Why there is no such sweep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSpace {
    /// A field cannot be varied.
    #[error("{field}: {why}")]
    Field {
        /// Which.
        field: String,
        /// Why.
        why: NoField,
    },
    /// A field is varied by two lists.
    #[error("{0}: is varied twice; write all its values into one list")]
    Twice(String),
    /// A field does not take a value.
    #[error("{field}: {value}: {why}")]
    Value {
        /// Which field.
        field: String,
        /// What it should take.
        value: String,
        /// Why it does not.
        why: NotAValue,
    },
    /// There are too many combinations.
    #[error("{count} policies are too many: at most {MAX} are run at once")]
    TooMany {
        /// How many there are; at least so many where they cannot be counted.
        count: usize,
    },
    /// A combination makes no sense.
    #[error("with {varied}: {why}")]
    Policy {
        /// The combination.
        varied: String,
        /// Why it makes none.
        why: SpecError,
    },
    /// A combination cannot be run on the scenario.
    #[error("with {varied}: {why}")]
    Model {
        /// The combination.
        varied: String,
        /// Why it cannot.
        why: ModelError,
    },
}

impl Space {
    /// Checks every policy before any is run.
    pub fn new(scenario: Scenario, base: ProbePolicySpec, axes: Vec<Axis>) -> Result<Self, NoSpace> {
        for (place, axis) in axes.iter().enumerate() {
            if axes[..place].iter().any(|earlier| earlier.field == axis.field) {
                return Err(NoSpace::Twice(axis.field.clone()));
            }
        }
        let space = Self { scenario, base, axes };
        let count = space.len();
        if count > MAX {
            return Err(NoSpace::TooMany { count });
        }
        space.check()?;
        Ok(space)
    }

    /// How many policies there are; at least one.
    pub fn len(&self) -> usize {
        self.axes.iter().fold(1, |count, axis| count.saturating_mul(axis.values.len()))
    }

    /// The varied fields, in the order in which they were named.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// What happens to the fleet.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The values of a policy, one for each varied field.
    pub fn values(&self, number: usize) -> impl Iterator<Item = &str> {
        self.axes.iter().zip(self.places(number)).map(|(axis, place)| axis.values.get(place))
    }

    /// The places of a policy's values among those that their fields take.
    pub fn places(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut places = vec![0; self.axes.len()];
        for (place, axis) in places.iter_mut().zip(&self.axes).rev() {
            *place = rest % axis.values.len();
            rest /= axis.values.len();
        }
        places
    }

    /// The policy that the values are put into.
    pub const fn base(&self) -> &ProbePolicySpec {
        &self.base
    }

    /// Runs a policy, written into `spec`: a copy of the base, or what an earlier run has left of one.
    pub fn run(&self, number: usize, spec: &mut ProbePolicySpec) -> Result<Run, NoSpace> {
        let policy = self.policy(number, spec)?;
        model::run(&self.scenario, &policy).map_err(|why| self.not_in_the_model(number, why))
    }

    /// Checks every policy, on all cores; tells the first that makes no sense.
    fn check(&self) -> Result<(), NoSpace> {
        on_all_cores(self.len(), |share| self.check_share(share)).into_iter().collect()
    }

    fn check_share(&self, mut share: Range<usize>) -> Result<(), NoSpace> {
        let mut spec = self.base.clone();
        share.try_for_each(|number| {
            let policy = self.policy(number, &mut spec)?;
            model::check(&self.scenario, &policy).map_err(|why| self.not_in_the_model(number, why))
        })
    }

    fn policy(&self, number: usize, spec: &mut ProbePolicySpec) -> Result<ParsedPolicy, NoSpace> {
        for (Axis { field, .. }, value) in self.axes.iter().zip(self.values(number)) {
            let place = Field::of(spec, field).map_err(|why| NoSpace::Field { field: field.clone(), why })?;
            place.set(value).map_err(|why| NoSpace::Value { field: field.clone(), value: value.to_owned(), why })?;
        }
        let policy = spec.parse(1, Phase::Aligned { origin: Time::ZERO });
        policy.map_err(|why| NoSpace::Policy { varied: self.describe(number), why })
    }

    fn not_in_the_model(&self, number: usize, why: ModelError) -> NoSpace {
        NoSpace::Model { varied: self.describe(number), why }
    }

    fn describe(&self, number: usize) -> String {
        let varied = self.axes.iter().zip(self.values(number)).map(|(axis, value)| format!("{}={value}", axis.field));
        varied.collect::<Vec<_>>().join(" ")
    }
}

impl FromStr for Axis {
    type Err = NoAxis;

    fn from_str(text: &str) -> Result<Self, NoAxis> {
        let (field, values) = text.split_once('=').ok_or(NoAxis::Malformed)?;
        let field = field.trim();
        let field = field.strip_prefix("spec.").unwrap_or(field).to_owned();
        Ok(Self { field, values: values.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ScenarioFile;

    #[test]
    fn the_last_field_runs_fastest() {
        let space = space(&["liveness.period=2s,4s", "spec.liveness.failureThreshold=1..3"]).unwrap();
        assert_eq!(space.len(), 6);
        let fields: Vec<_> = space.axes().iter().map(|axis| axis.field.as_str()).collect();
        assert_eq!(fields, ["liveness.period", "liveness.failureThreshold"]);
        let all: Vec<_> = (0..6).map(|number| space.values(number).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(all, ["2s 1", "2s 2", "2s 3", "4s 1", "4s 2", "4s 3"]);
    }

    #[test]
    fn a_spec_that_an_earlier_run_has_left_does_not_matter() {
        let space = space(&["liveness.period=2s,4s", "liveness.failureThreshold=1..3"]).unwrap();
        let mut left = space.base().clone();
        for number in [5, 0, 3] {
            let again = space.run(number, &mut left).unwrap();
            assert_eq!(again, space.run(number, &mut space.base().clone()).unwrap());
        }
    }

    #[test]
    fn every_policy_is_checked_before_any_is_run() {
        for (axes, sentence) in [
            (
                &["liveness.perod=2s"][..],
                "liveness.perod: holds no number and no duration of a policy; those that do are",
            ),
            (&["startup.period=2s"], "startup.period: the policy has no startup"),
            (&["liveness.period=2s,5"], "liveness.period: 5: must be a duration such as 10s"),
            (&["liveness.failureThreshold=1,x"], "liveness.failureThreshold: x: must be a whole number"),
            (&["liveness.period=2s", "liveness.period=4s"], "liveness.period: is varied twice"),
            (
                &["liveness.period=2s,4s", "liveness.failureThreshold=0..3"],
                "with liveness.period=2s liveness.failureThreshold=0: spec.liveness.failureThreshold: must be from 1",
            ),
            (&["liveness.period=2s,2500ms"], "with liveness.period=2500ms: spec.liveness.period: 2s500ms is no whole"),
            (
                &["liveness.failureThreshold=1..10000", "restart.loopAfter=1..10000"],
                "100000000 policies are too many: at most 1000000",
            ),
        ] {
            let refusal = space(axes).map(|_| ()).unwrap_err().to_string();
            assert!(refusal.starts_with(sentence), "{refusal}");
        }
    }

    #[test]
    fn an_axis_is_a_field_and_its_values() {
        assert_eq!("liveness.period".parse::<Axis>(), Err(NoAxis::Malformed));
        assert_eq!("liveness.period=".parse::<Axis>(), Err(NoAxis::Values(NoValues::Missing)));
    }

    fn space(axes: &[&str]) -> Result<Space, NoSpace> {
        let scenario = "{turn: 1s, turns: 20, requestsPerTurn: 5, replicas: {count: 2, startup: 3}}";
        let spec = serde_json::json!({
            "selector": {"matchLabels": {"app": "a"}},
            "mode": "Enforce",
            "liveness": {"httpGet": {"port": "http", "path": "/live"}, "period": "2s"},
        });
        let axes = axes.iter().map(|axis| axis.parse().unwrap()).collect();
        Space::new(ScenarioFile::parse("s.yaml", scenario).unwrap(), serde_json::from_value(spec).unwrap(), axes)
    }
}
