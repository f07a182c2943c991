//! What people see while a lab runs.

use indicatif::ProgressBar;

use super::screen::Screen;
use crate::engine::{FleetTransition, Transition, TransitionKind};
use crate::model::{Member, Moment, Observer, Standing, Turn};
use crate::scenario::{Condition, Scenario};

/// The most replicas that get a line of their own, so that the lines fit on a screen.
const SHOWN: usize = 20;

/// Every decision with its sentence, every change of what a replica really is, and on a terminal the fleet as it is.
#[derive(Debug)]
pub struct View {
    screen: Screen,
    scenario: Scenario,
    head: ProgressBar,
    lines: Vec<ProgressBar>,
    conditions: Vec<Condition>,
    restarts: Vec<u32>,
}

impl View {
    /// The view of a scenario, as fast as it runs.
    pub fn new(screen: Screen, scenario: Scenario) -> Self {
        let replicas = scenario.replicas();
        Self {
            head: screen.line(),
            lines: (0..replicas.min(SHOWN)).map(|_| screen.line()).collect(),
            screen,
            scenario,
            conditions: vec![Condition::HEALTHY; replicas],
            restarts: vec![0; replicas],
        }
    }

    /// The turn, as precisely as matters.
    fn turn(&self, at: Moment) -> f64 {
        let turn = self.scenario.turn().as_secs_f64();
        f64::from(at.turn) + at.time.since(self.scenario.begin_of(at.turn)).as_secs_f64() / turn
    }

    fn is_in(member: &Member) -> bool {
        member.standing == Standing::In
    }
}

impl Observer for View {
    fn decided(&mut self, at: Moment, transition: &Transition, _condition: Condition) {
        let replica = transition.replica.index;
        if transition.kind == TransitionKind::Restarted
            && let Some(restarts) = self.restarts.get_mut(replica as usize)
        {
            *restarts += 1;
        }
        let (turn, kind, reason) = (self.turn(at), transition.kind.name(), transition.reason);
        self.screen.say(&format!("{turn:6.1}  r{replica:<3} {kind}: {reason}"));
    }

    fn fleet_decided(&mut self, at: Moment, transition: &FleetTransition) {
        let (turn, kind, reason) = (self.turn(at), transition.kind.name(), transition.reason);
        self.screen.say(&format!("{turn:6.1}  fleet {kind}: {reason}"));
    }

    fn passed(&mut self, at: Moment, turn: &Turn<'_>) {
        for (replica, (member, known)) in turn.replicas.iter().zip(&mut self.conditions).enumerate() {
            if member.condition != *known {
                *known = member.condition;
                self.screen.say(&format!("{:6}    r{replica:<3} is {}", at.turn, member.condition));
            }
        }
        let (all, pool) = (turn.replicas.len(), turn.replicas.iter().filter(|member| Self::is_in(member)).count());
        let healthy = turn.replicas.iter().filter(|member| member.condition == Condition::HEALTHY).count();
        let last = self.scenario.first_turn() + self.scenario.turns() - 1;
        self.head.set_message(format!(
            "turn {} of {last}: {healthy} of {all} healthy, {pool} in the pool, {} of {} requests failed",
            at.turn,
            turn.traffic.errors(),
            turn.traffic.sent(),
        ));
        for (replica, (member, line)) in turn.replicas.iter().zip(&self.lines).enumerate() {
            let pool = if Self::is_in(member) { "in" } else { "out" };
            let (condition, restarts) = (member.condition.to_string(), self.restarts[replica]);
            line.set_message(format!("  r{replica:<3} {condition:20} {pool:3}  {restarts} restarts"));
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.screen.clear();
    }
}
