//! The lesson's tables, out of the model: what is simulated over all phases, and beside it what the closed form says.

use std::collections::BTreeSet;

use super::inputs;
use crate::api::Duration;
use crate::engine::{Span, Time};
use crate::lesson::LessonError;
use crate::model::propagation::{
    Check, Connections, Delay, Device, Edge, Health, Move, Phases, Pool, Profile, Standing, Timeline, closed_form,
    simulated,
};
use crate::report::{Cell, Report, of_cells};

/// The profiles with their names.
const PROFILES: [(&str, Profile); 3] = [("L7", Profile::L7), ("L4", Profile::L4), ("None", Profile::NONE)];

/// From a fault, or its end, to the traffic.
pub fn delay(check: Check) -> Result<Report, LessonError> {
    let rows: Vec<_> = moves()
        .map(|(name, profile, to)| {
            let (delays, expected) = (simulated::delays(check, profile, to), closed_form::delays(check, profile, to));
            let [decision_worst, decision_mean] = worst_and_mean(Some(delays.to_decision));
            let [added_worst, added_mean] = worst_and_mean(delays.from_decision);
            let [worst, mean] = worst_and_mean(delays.to_traffic);
            let [expected_worst, expected_mean] = worst_and_mean(expected.to_traffic);
            [
                Cell::text(name),
                Cell::text(verb(to)),
                decision_worst,
                decision_mean,
                added_worst,
                added_mean,
                worst,
                mean,
                expected_worst,
                expected_mean,
            ]
        })
        .collect();
    let header = [
        "profile",
        "move",
        "decision_worst_s",
        "decision_mean_s",
        "added_worst_s",
        "added_mean_s",
        "worst_s",
        "mean_s",
        "closed_form_worst_s",
        "closed_form_mean_s",
    ];
    Ok(of_cells(header, &rows)?.with_preamble(sentence(check)))
}

/// For how long several devices, each with its own checks, may send their traffic differently.
pub fn devices(check: Check) -> Result<Report, LessonError> {
    let traffic = inputs::traffic()?;
    let mut rows = Vec::new();
    for (name, profile, to) in moves() {
        for devices in &traffic.devices {
            rows.push([
                Cell::text(name),
                Cell::text(verb(to)),
                Cell::Count(devices.get().into()),
                seconds(simulated::disagreement_of_spread(check, profile, to, devices.get())),
                seconds(simulated::disagreement(check, profile, to)),
                seconds(closed_form::disagreement(check, profile)),
            ]);
        }
    }
    let header = ["profile", "move", "devices", "spread_evenly_s", "worst_s", "closed_form_worst_s"];
    Ok(of_cells(header, &rows)?.with_preamble(sentence(check)))
}

/// What it costs to assign or change a profile: the replicas that use it get no traffic until each has passed.
pub fn preparing(check: Check) -> Result<Report, LessonError> {
    let replicas = inputs::traffic()?.replicas.get();
    let rows = PROFILES.map(|(name, profile)| {
        let fleet = simulated::preparing_fleet(check, profile, replicas);
        let [worst, mean] = worst_and_mean(simulated::preparing(check, profile));
        let [expected_worst, expected_mean] = worst_and_mean(closed_form::preparing(check, profile));
        [
            Cell::text(name),
            Cell::Count(replicas.into()),
            seconds(fleet.iter().copied().min()),
            seconds(fleet.iter().copied().max()),
            worst,
            mean,
            expected_worst,
            expected_mean,
        ]
    });
    let header = [
        "profile",
        "replicas",
        "nobody_serves_s",
        "somebody_missing_s",
        "each_worst_s",
        "each_mean_s",
        "closed_form_worst_s",
        "closed_form_mean_s",
    ];
    Ok(of_cells(header, &rows)?.with_preamble(sentence(check)))
}

/// Open connections that outlive the ejection.
pub fn connections(check: Check) -> Result<Report, LessonError> {
    let traffic = inputs::traffic()?;
    let mut rows = Vec::new();
    for (name, profile) in PROFILES {
        for last in &traffic.connections.last {
            let connections = Connections { per_second: traffic.connections.per_second, last: last.span() };
            let left = simulated::latest_leftover(check, profile, connections);
            let expected = closed_form::delays(check, profile, Move::Eject).to_traffic;
            rows.push([
                Cell::text(name),
                Cell::Exact(last.span().as_secs_f64()),
                seconds(left.map(|left| left.ejected.since(Time::ZERO))),
                left.map_or(Cell::Nothing(NEVER), |left| Cell::Count(left.open)),
                seconds(left.map(|left| left.last_ends.since(Time::ZERO))),
                seconds(expected.map(|expected| expected.worst + last.span())),
            ]);
        }
    }
    let header =
        ["profile", "connections_last_s", "ejected_worst_s", "open_then", "last_ends_s", "closed_form_last_ends_s"];
    Ok(of_cells(header, &rows)?.with_preamble(sentence(check)))
}

/// What happens to a replica, what a screen shows of it, and where the traffic goes, whenever one of these changes.
pub fn history(check: Check) -> Result<Report, LessonError> {
    let scene = inputs::traffic()?.history;
    let at = |duration: Duration| Time::ZERO + duration.span();
    let health =
        Timeline::new(Health::Good).then(at(scene.bad_from), Health::Bad).then(at(scene.good_from), Health::Good);
    let changed = at(scene.profile_changed_at);
    let mut rows = Vec::new();
    for (name, profile) in PROFILES {
        let prepared = closed_form::preparing(check, profile)
            .unwrap_or(closed_form::delays(check, profile, Move::Admit).to_decision);
        let until = changed + prepared.worst;
        let device = Device { check, profile, phases: Phases::default(), edge: Edge::Caught };
        let standing = device.judge(Standing::Passing, &health, &[changed], until);
        let pool = device.forward(Pool::In, &standing, until);
        let instants: BTreeSet<_> = health.instants().chain(standing.instants()).chain(pool.instants()).collect();
        for now in instants {
            rows.push([
                Cell::text(name),
                seconds(Some(now.since(Time::ZERO))),
                Cell::text(health.at(now, Edge::Caught).name()),
                Cell::text(standing.at(now, Edge::Caught).name()),
                Cell::text(pool.at(now, Edge::Caught).name()),
            ]);
        }
    }
    Ok(of_cells(["profile", "time_s", "replica", "screen", "traffic"], &rows)?.with_preamble(sentence(check)))
}

/// What is printed where nothing reaches the traffic.
const NEVER: &str = "never";

fn moves() -> impl Iterator<Item = (&'static str, Profile, Move)> {
    PROFILES.into_iter().flat_map(|(name, profile)| Move::BOTH.map(|to| (name, profile, to)))
}

pub fn verb(to: Move) -> &'static str {
    match to {
        Move::Eject => "eject",
        Move::Admit => "admit",
    }
}

fn worst_and_mean(delay: Option<Delay>) -> [Cell; 2] {
    [delay.map(|delay| delay.worst), delay.map(|delay| delay.mean)].map(seconds)
}

fn seconds(span: Option<Span>) -> Cell {
    span.map_or(Cell::Nothing(NEVER), |span| Cell::Decimals(span.as_secs_f64(), 2))
}

fn sentence(check: Check) -> String {
    format!(
        "a check every {}; {} failures in a row eject, {} successes in a row admit\n",
        check.period(),
        check.needed(Move::Eject),
        check.needed(Move::Admit)
    )
}
