//! The command line of a sweep.

use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::run;
use super::space::{Axis, Space};
use super::table;
use crate::report::Delivery;
use crate::tools::input::Input;
use crate::tools::{NoPlan, ToolError};

/// A policy, a scenario, and what to vary.
#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    input: Input,
    /// A field of the policy and its values, as a list or a range: liveness.period=2s,5s,10s,
    /// liveness.failureThreshold=2..6, readiness.timeout=100ms..1s/100ms. Several of these make every combination
    #[arg(long, value_name = "FIELD=VALUES", required = true)]
    vary: Vec<Axis>,
    #[command(flatten)]
    delivery: Delivery,
}

/// A sweep that makes sense, every policy of it.
#[derive(Debug)]
pub struct SweepPlan {
    title: String,
    remarks: String,
    space: Arc<Space>,
    delivery: Delivery,
}

impl SweepArgs {
    /// What is going to be done.
    pub fn plan(self) -> Result<SweepPlan, NoPlan> {
        let (scenario, policy) = (self.input.scenario()?, self.input.policy()?);
        let (title, remarks) = (self.input.title(), self.input.remark(&scenario));
        let space = Arc::new(Space::new(scenario, policy.spec, self.vary)?);
        Ok(SweepPlan { title, remarks, space, delivery: self.delivery })
    }
}

impl SweepPlan {
    /// Does it, and prints a row for each policy; told to stop, for those that are done.
    pub async fn run(self, stop: &CancellationToken) -> Result<(), ToolError> {
        let rows = run::run(self.space.clone(), stop).await;
        let report =
            table::report(&self.space, &rows, self.delivery.form())?.with_title(self.title).with_preamble(self.remarks);
        self.delivery.deliver(&report)?;
        let total = self.space.len();
        match total - rows.len() {
            0 => Ok(()),
            missing => Err(ToolError::Stopped { missing, total }),
        }
    }
}
