//! What people see while they wait.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::model::{Moment, Observer, Turn};
use crate::scenario::Scenario;

/// A bar of turns on a terminal; elsewhere a line for each phase of a run. Both on standard error.
pub struct Progress {
    bar: ProgressBar,
    setting: String,
    first_turn: u32,
}

impl Progress {
    /// The progress of a run of a scenario, beside that of others.
    pub fn new(bars: &MultiProgress, setting: &str, scenario: &Scenario) -> Self {
        let bar = bars.add(ProgressBar::new(u64::from(scenario.turns())).with_prefix(setting.to_owned()));
        if let Ok(style) = ProgressStyle::with_template("{prefix:20} [{bar:40}] {pos:>3}/{len} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, setting: setting.to_owned(), first_turn: scenario.first_turn() }
    }

    /// Something else is going on now.
    pub fn phase(&self, phase: String) {
        if self.bar.is_hidden() {
            eprintln!("{}: {phase}", self.setting);
        } else {
            self.bar.set_message(phase);
        }
    }

    /// Something worth keeping in sight has happened.
    pub fn note(&self, text: &str) {
        let line = format!("{}: {text}", self.setting);
        if self.bar.is_hidden() { eprintln!("{line}") } else { self.bar.println(line) }
    }

    /// The turn at a place, counted from 0, is over.
    pub fn turn(&self, turn: u32) {
        self.bar.set_position(u64::from(turn) + 1);
    }
}

impl Observer for Progress {
    fn passed(&mut self, at: Moment, _turn: &Turn<'_>) {
        self.turn(at.turn - self.first_turn);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
