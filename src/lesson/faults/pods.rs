//! The lesson on pods of a cluster: of each rule the three runs at the same time, a rule after the other.

use clap::ValueEnum;

use super::rules::{Rule, Under};
use super::table::{columns, played};
use crate::lesson::cluster_world::{Cluster, ClusterError, Experiment, Observation, Options, Probes, Route, Setting};
use crate::lesson::measured::Measured;
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Cell, Compared, Figures, Traffic};
use crate::runtime::Stop;
use crate::scenario::{Scenario, Speed};

/// The rules that are to be measured, each with its runs in the order of [`Under::ALL`].
#[derive(Debug)]
pub struct OnPods(Vec<(Rule, Vec<(Under, Experiment)>)>);

impl OnPods {
    /// These rules, or all that pods can act out if there are none.
    ///
    /// # Errors
    /// If pods cannot act one of them out.
    pub fn new(rules: &[Rule], options: &Options) -> Result<Self, NoPlan> {
        options.no_prober_given()?;
        let mut measured = Vec::new();
        for rule in if rules.is_empty() { Rule::value_variants() } else { rules } {
            let scenario = rule.scenario().map_err(LessonError::from)?;
            match only_in_model(&scenario) {
                None => measured.push((*rule, experiments(*rule, &scenario, options)?)),
                Some(_) if rules.is_empty() => {}
                Some(what) => return Err(NoPlan::OnlyInModel { rule: rule.name(), what }),
            }
        }
        Ok(Self(measured))
    }

    /// Measures them.
    ///
    /// # Errors
    /// If there is no cluster for it.
    pub async fn measure(&self, stop: &Stop) -> Result<Measured<Compared>, ClusterError> {
        let cluster = Cluster::reach(Probes::Own, stop).await?;
        let mut all = Measured { rows: Vec::new(), done: Ok(()) };
        for (rule, experiments) in &self.0 {
            if stop.once.is_cancelled() {
                break;
            }
            let runs = experiments.iter().map(async |(under, experiment)| {
                Measured::from(cluster.run(experiment).await.and_then(|seen| compare(*rule, *under, &seen).map(Some)))
            });
            all = all.and(Measured::of(runs).await, |rows, more| rows.extend(more));
        }
        Ok(all.unless_stopped(&stop.once))
    }
}

fn experiments(rule: Rule, scenario: &Scenario, options: &Options) -> Result<Vec<(Under, Experiment)>, NoPlan> {
    let experiment = |under| {
        let it = Setting {
            title: rule.run(under),
            name: rule.run(under),
            scenario: scenario.clone(),
            script: rule.script(),
            policy: rule.policy(under).map_err(LessonError::from)?,
            route: Route::Endpoints,
        };
        let prober = match under {
            Under::Without | Under::With => Probes::Own,
            Under::Kubelet => Probes::Kubelet,
        };
        Ok((under, options.asked_by(prober).experiment(it, Speed::REAL)?))
    };
    Under::ALL.into_iter().map(experiment).collect()
}

/// What of a scenario nothing on a cluster acts out.
fn only_in_model(scenario: &Scenario) -> Option<&'static str> {
    let joins = (0..scenario.replicas()).any(|replica| scenario.joins(replica).is_some());
    let found = [
        ("cuts the path to a node", scenario.cuts_paths()),
        ("lets replicas join", joins),
        ("has replicas beat to a registry", scenario.registry().is_some()),
    ];
    found.into_iter().find(|(_, there)| *there).map(|(what, _)| what)
}

fn compare(rule: Rule, under: Under, seen: &Observation) -> Result<Compared, LessonError> {
    let (model, _) = played(rule, under)?;
    // Who left the pool there may also have been replaced.
    let measured = columns(&Figures::new(&seen.restarts, Traffic::from(&seen.summary)), Cell::Nothing("-"));
    Ok(Compared::new(rule.run(under).to_owned(), model.to_vec(), "cluster", measured.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_every_rule_is_measured_whose_scenario_pods_can_act_out() {
        let OnPods(measured) = OnPods::new(&[], &Options::default()).unwrap();
        let rules: Vec<_> = measured.iter().map(|(rule, _)| *rule).collect();
        use Rule::{Breaker, Dependency, Dwell, Efficacy, Ejections, Floor, Window};
        assert_eq!(rules, [Breaker, Dependency, Efficacy, Floor, Window, Dwell, Ejections]);
    }
}
