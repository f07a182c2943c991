//! The command line of the lesson.

use clap::ValueEnum;

use super::pods::OnPods;
use super::rules::Rule;
use super::table;
use crate::lesson::cluster_world::Options;
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Delivery, Report, beside_the_model};
use crate::runtime::Stop;

/// How the lesson "faults" is run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to run it
    #[arg(long, value_enum, default_value_t)]
    world: World,
    /// Only this rule; may be given more than once [default: all, on the cluster those that pods can act out]
    #[arg(long = "rule", value_enum, value_name = "RULE")]
    rules: Vec<Rule>,
    #[command(flatten)]
    cluster: Options,
    #[command(flatten)]
    delivery: Delivery,
}

/// A world that the lesson can be run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum World {
    /// Simulated replicas in logical time
    #[default]
    Model,
    /// Pods of the current kubeconfig's cluster, with the model beside them; a rule after the other, minutes each
    Cluster,
}

/// What is going to be done; it makes sense.
#[derive(Debug)]
pub struct Plan {
    task: Task,
    delivery: Delivery,
}

#[derive(Debug)]
enum Task {
    InModel(Vec<Rule>),
    OnPods(OnPods),
}

impl Args {
    /// What is going to be done.
    pub fn plan(self) -> Result<Plan, NoPlan> {
        let Self { world, rules, cluster, delivery } = self;
        let task = match world {
            World::Model => {
                cluster.none_given()?;
                Task::InModel(if rules.is_empty() { Rule::value_variants().to_vec() } else { rules })
            }
            World::Cluster => Task::OnPods(OnPods::new(&rules, &cluster)?),
        };
        Ok(Plan { task, delivery })
    }
}

impl Plan {
    /// Does it, and prints the table; told to stop on a cluster, of what was measured until then, and cleans up first.
    pub async fn run(self, stop: &Stop) -> Result<(), LessonError> {
        let deliver = |report: Report| Ok(self.delivery.deliver(&report.with_title("Lesson faults"))?);
        match self.task {
            Task::InModel(rules) => deliver(table::report(&rules)?),
            Task::OnPods(rules) => {
                rules.measure(stop).await?.show(|rows| deliver(beside_the_model(&table::COLUMNS, rows)?))
            }
        }
    }
}
