//! The lesson on processes of this machine: replicas that beat to a registry in a process of its own, and requests that go
//! where that says. Nobody probes.

use tokio_util::sync::CancellationToken;

use super::placement::{Figures, Placed};
use crate::api::{SpecError, yaml};
use crate::engine::{Span, Time};
use crate::lesson::measured::Measured;
use crate::lesson::processes::{Machine, Measurement};
use crate::lesson::{LessonError, NoPlan, Setting};
use crate::local::{Run, Script, Sent};
use crate::model::discovery::{Discovery, Window};
use crate::registry::Resolve;
use crate::report::Compared;
use crate::scenario::{Scenario, Speed, Stop};

/// Placements, as they are to be measured.
#[derive(Clone, Debug)]
pub struct Placements(Vec<Measurement>);

impl Placements {
    /// Placements at a speed.
    ///
    /// # Errors
    /// If processes cannot play one of them.
    pub fn new(placed: Vec<Placed>, speed: Speed) -> Result<Self, NoPlan> {
        let nobody_asks = Setting::NoProbes.policy().map_err(LessonError::from)?.spec;
        let measurement = |Placed { title, scenario, text }: Placed| {
            let is_fixed = scenario.resolve() == Resolve::Static;
            let refuse = |error: SpecError| yaml::refuse(&title, &text, &error.path, &error.sentence);
            let script = Script::new(scenario, &text).map_err(refuse).map_err(LessonError::from)?;
            let measurement = Measurement::new(title, script, &nobody_asks, speed)?;
            Ok(if is_fixed { measurement.with_fixed_list() } else { measurement })
        };
        Ok(Self(placed.into_iter().map(measurement).collect::<Result<_, NoPlan>>()?))
    }

    /// Measures them one after another: each takes a second, in which every millisecond counts.
    pub async fn measure(&self, stop: &CancellationToken) -> Measured<Compared> {
        let mut measured = Measured { rows: Vec::new(), done: Ok(()) };
        let machine = match Machine::new(stop) {
            Ok(machine) => machine,
            Err(error) => return Measured::nothing(error),
        };
        for placement in self.0.iter().take_while(|_| !stop.is_cancelled()) {
            match measure(placement, &machine).await {
                Ok(row) => measured.rows.extend(row),
                Err(error) => return Measured { done: Err(error), ..measured },
            }
        }
        measured.unless_stopped(stop)
    }
}

/// A run that was cut short tells nothing: its end is where the figures are.
async fn measure(placement: &Measurement, machine: &Machine<'_>) -> Result<Option<Compared>, LessonError> {
    let (run, recording) = placement.run(machine).await?;
    let Some(scenario) = placement.scenario_of(&run).filter(|_| placement.is_whole(&run)) else { return Ok(None) };
    let measured = Figures::new(&scenario, &discovered(&scenario, &run));
    let model = Figures::modelled(&scenario);
    let compared = Compared::new(placement.title_of(&run), model.cells().to_vec(), "local", measured.cells().to_vec());
    Ok(Some(compared.with_recording(recording)))
}

/// What a run came to, in the terms of the scenario as it is written.
fn discovered(scenario: &Scenario, run: &Run) -> Discovery {
    let sent = run.log.sent();
    let stops = (0..scenario.replicas()).flat_map(|replica| scenario.stops(replica).map(move |stop| (replica, stop)));
    let windows = stops.map(|(replica, stop)| window(scenario, sent, replica, stop));
    Discovery {
        to_dead: sent.iter().filter(|sent| is_to_dead(scenario, sent)).count() as u64,
        to_new: sent.iter().filter(|sent| sent.to.is_some_and(|to| scenario.joins(to).is_some())).count() as u64,
        nowhere: sent.iter().filter(|sent| sent.to.is_none()).count() as u64,
        windows: windows.collect(),
    }
}

fn is_to_dead(scenario: &Scenario, sent: &Sent) -> bool {
    sent.to.is_some_and(|to| scenario.stops(to).any(|stop| covers(stop, begin_of(scenario, sent.turn))))
}

/// An address is on the list to the end if it gets one of the last requests: as many as there are replicas.
fn window(scenario: &Scenario, sent: &[Sent], replica: usize, stop: Stop) -> Window {
    let to_it = |sent: &&Sent| sent.to == Some(replica) && covers(stop, begin_of(scenario, sent.turn));
    let mut turns: Vec<_> = sent.iter().map(|sent| sent.turn).collect();
    turns.sort_unstable();
    let last_round = turns.iter().rev().take(scenario.replicas()).min();
    match sent.iter().filter(to_it).map(|sent| sent.turn).max() {
        Some(last) if last_round.is_some_and(|round| last >= *round) => Window::Manual,
        Some(last) => Window::Noticed(begin_of(scenario, last + 1).since(stop.from)),
        None => Window::Noticed(Span::ZERO),
    }
}

fn covers(stop: Stop, time: Time) -> bool {
    stop.from <= time && stop.until.is_none_or(|until| time < until)
}

/// When the turn at a place, counted from 0, begins.
fn begin_of(scenario: &Scenario, turn: u32) -> Time {
    scenario.begin_of(scenario.first_turn() + turn)
}
