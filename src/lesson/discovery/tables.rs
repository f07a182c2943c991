//! The lesson's tables, out of the model.

use super::budget::{Budget, Cost};
use super::placement::{COLUMNS, Figures, Placed, Placement};
use crate::engine::Span;
use crate::lesson::LessonError;
use crate::model::discovery::{self, Heartbeat};
use crate::report::{Cell, Report, of_cells};
use crate::scenario::Scenario;

/// Beats in a time to live: two may be lost before an entry is.
const BEATS: u64 = 3;

/// Placements beside each other; those of the lesson are the table `lessons/discovery/discovery-placements.csv`.
pub fn placements(placed: &[Placed]) -> Result<Report, LessonError> {
    let preamble =
        placed.iter().map(|Placed { title, scenario, .. }| format!("{title}: {}\n", describe(scenario))).collect();
    let rows: Vec<_> = placed
        .iter()
        .map(|Placed { title, scenario, .. }| {
            let [window, to_dead, to_new, points] = Figures::modelled(scenario).cells();
            [Cell::Text(title.clone().into()), window, to_dead, to_new, points]
        })
        .collect();
    let [window, to_dead, to_new, points] = COLUMNS;
    Ok(of_cells(["placement", window, to_dead, to_new, points], &rows)?.with_preamble(preamble))
}

/// What each window costs: `lessons/discovery/discovery-budget.csv`.
pub fn budget() -> Result<Report, LessonError> {
    let budget = Budget::of_the_lesson()?;
    let window = |placement| window(&budget, placement);
    let rows = [
        ("health check", budget.health_check()),
        ("registry", window(Placement::Registry)?),
        ("registry + cache 800", window(Placement::RegistryCache)?),
        ("graceful shutdown", window(Placement::RegistryGraceful)?),
        ("manual", window(Placement::StaticList)?),
    ]
    .map(|(source, window)| {
        let Cost { window_s, dropped_per_fault, dropped_per_month, availability_percent } = budget.cost(window);
        [
            Cell::text(source),
            Cell::Exact(window_s),
            Cell::Decimals(dropped_per_fault, 2),
            Cell::Decimals(dropped_per_month, 0),
            Cell::Decimals(availability_percent, 5),
        ]
    });
    let header = ["window_source", "window_s", "dropped_per_fault", "dropped_per_month", "availability_percent"];
    Ok(of_cells(header, &rows)?)
}

/// What a shorter time to live saves, and what it costs.
pub fn sensitivity() -> Result<Report, LessonError> {
    let budget = Budget::of_the_lesson()?;
    let scenario = Placement::Registry.scenario()?;
    let rows = [3_000, 1_000].map(|millis| {
        let time_to_live = Span::from_millis(millis);
        let every = Span::from_nanos(time_to_live.as_nanos() / BEATS);
        let run = discovery::run_with(&scenario, Heartbeat { every, time_to_live });
        let cost = budget.cost(budget.span_of(run.window()));
        [
            Cell::Count(millis),
            Cell::Exact(cost.window_s),
            Cell::Decimals(cost.dropped_per_fault, 2),
            Cell::Decimals(budget.beats_per_s(every), 2),
            Cell::Decimals(budget.checks_per_s(), 2),
        ]
    });
    let header = ["time_to_live_ms", "window_s", "dropped_per_fault", "registry_beats_per_s", "health_checks_per_s"];
    Ok(of_cells(header, &rows)?)
}

/// A health check and a registry together: the smaller window counts.
pub fn combined() -> Result<Report, LessonError> {
    let budget = Budget::of_the_lesson()?;
    let (health_check, registry) = (budget.health_check(), window(&budget, Placement::Registry)?);
    let (both, by_hand) = (health_check.min(registry), budget.by_hand());
    let rows = [
        ("health check", health_check),
        ("registry", registry),
        ("health check + registry", both),
        ("manual", by_hand),
    ]
    .map(|(source, window)| {
        let cost = budget.cost(window);
        [
            Cell::text(source),
            Cell::Exact(cost.window_s),
            Cell::Decimals(cost.dropped_per_fault, 2),
            Cell::Decimals(cost.window_s / both.as_secs_f64(), 1),
            Cell::Decimals(by_hand.as_secs_f64() / cost.window_s, 1),
        ]
    });
    let header =
        ["window_source", "window_s", "dropped_per_fault", "times_worse_than_both", "times_better_than_manual"];
    Ok(of_cells(header, &rows)?)
}

fn window(budget: &Budget, placement: Placement) -> Result<Span, LessonError> {
    Ok(budget.span_of(discovery::run(&placement.scenario()?).window()))
}

/// A placement in a line, for people.
fn describe(scenario: &Scenario) -> String {
    let resolve = scenario.resolve().map(|turns| scenario.turn() * u64::from(turns.get()));
    let beats = Heartbeat::of(scenario)
        .map(|heartbeat| format!("; a beat every {}, time to live {}", heartbeat.every, heartbeat.time_to_live));
    format!("resolve {resolve}{}", beats.unwrap_or_default())
}
