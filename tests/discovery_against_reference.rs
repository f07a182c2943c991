//! The model of lesson "discovery" against a naive one that was written down on its own, turn by turn and request by
//! request: whatever the scenario, every figure must be the same.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use probe_policy::engine::Span;
use probe_policy::model::discovery::{self, Discovery, Window};
use probe_policy::scenario::{Scenario, ScenarioFile};
use proptest::prelude::*;
use serde_json::json;

#[derive(Clone, Debug)]
struct Case {
    first_turn: u32,
    turns: u32,
    requests: u32,
    requests_from: u32,
    goes_on: bool,
    replicas: u32,
    /// Replica to turn; turns count from 0 here and below.
    joins: BTreeMap<u32, u32>,
    /// Replica and turn, to turns and whether it leaves first.
    stops: BTreeMap<(u32, u32), (Option<u32>, bool)>,
    beat: u32,
    time_to_live: u32,
    resolve: Resolve,
}

#[derive(Clone, Copy, Debug)]
enum Resolve {
    Static,
    Registry,
    Cached(u32),
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn every_figure_is_that_of_the_naive_model(case in case()) {
        prop_assert_eq!(discovery::run(&scenario(&case)), naive(&case));
    }
}

fn naive(case: &Case) -> Discovery {
    let there = |replica: u32, turn: u32| case.joins.get(&replica).is_none_or(|joins| turn >= *joins);
    let dead = |replica: u32, turn: u32| {
        let covers = |at: u32, turns: Option<u32>| at <= turn && turns.is_none_or(|turns| turn < at + turns);
        case.stops.iter().any(|((who, at), (turns, _))| *who == replica && covers(*at, *turns))
    };
    let dies =
        |replica: u32, turn: u32| case.stops.contains_key(&(replica, turn)) && (turn == 0 || !dead(replica, turn - 1));
    let mut registry: Vec<(u32, u32)> = Vec::new();
    let mut list: Vec<u32> = (0..case.replicas).filter(|replica| !case.joins.contains_key(replica)).collect();
    let (mut resolved, mut counter, mut last_turn) = (None, 0, None);
    let mut deaths: BTreeMap<(u32, u32), Option<u32>> = BTreeMap::new();
    let mut figures = Discovery::default();
    for turn in 0..case.turns {
        for replica in 0..case.replicas {
            let beats = there(replica, turn) && (!dead(replica, turn) || dies(replica, turn));
            if turn % case.beat == 0 && beats {
                match registry.iter_mut().find(|(name, _)| *name == replica) {
                    Some((_, last)) => *last = turn,
                    None => registry.push((replica, turn)),
                }
            }
        }
        for replica in (0..case.replicas).filter(|replica| dies(*replica, turn)) {
            deaths.insert((replica, turn), None);
            if case.stops[&(replica, turn)].1 {
                registry.retain(|(name, _)| *name != replica);
            }
        }
        if !case.goes_on {
            counter = 0;
        }
        for _ in 0..if turn < case.requests_from { 0 } else { case.requests } {
            let is_due = match case.resolve {
                Resolve::Static => false,
                Resolve::Registry => true,
                Resolve::Cached(age) => resolved.is_none_or(|resolved| turn - resolved >= age),
            };
            if is_due {
                resolved = Some(turn);
                list = registry
                    .iter()
                    .filter(|(_, last)| turn - last < case.time_to_live)
                    .map(|(name, _)| *name)
                    .collect();
            }
            last_turn = Some(turn);
            if list.is_empty() {
                figures.nowhere += 1;
                continue;
            }
            let to = list[counter % list.len()];
            counter += 1;
            figures.to_new += u64::from(case.joins.contains_key(&to));
            if dead(to, turn) {
                figures.to_dead += 1;
                let (_, last) = deaths.range_mut(..=(to, turn)).next_back().unwrap();
                *last = Some(turn);
            }
        }
    }
    for ((replica, at), last) in &deaths {
        let still_dead = |turn: u32| (*at..=turn).all(|turn| dead(*replica, turn));
        let listed = last_turn.is_some_and(|turn| turn >= *at && still_dead(turn)) && list.contains(replica);
        let turns = last.map_or(0, |last| last - at + 1);
        let noticed = Window::Noticed(Span::from_millis(10) * u64::from(turns));
        figures.windows.push(if listed { Window::Manual } else { noticed });
    }
    figures
}

fn case() -> impl Strategy<Value = Case> {
    let resolve = prop_oneof![
        1 => Just(Resolve::Static),
        3 => Just(Resolve::Registry),
        3 => (1u32..12).prop_map(Resolve::Cached),
    ];
    (1u32..7, 1u32..70)
        .prop_flat_map(move |(replicas, turns)| {
            let (who, when) = (0..replicas, 0..turns);
            let stop = (prop::option::of(1u32..20), any::<bool>());
            (
                (Just(replicas), Just(turns), 0u32..4, 0u32..5, when.clone(), any::<bool>()),
                prop::collection::btree_map(who.clone(), when.clone(), 0..3),
                prop::collection::btree_map((who, when), stop, 0..5),
                (1u32..9, 1u32..20, resolve.clone()),
            )
        })
        .prop_map(|((replicas, turns, first_turn, requests, requests_from, goes_on), joins, mut stops, network)| {
            stops.retain(|(replica, at), _| joins.get(replica).is_none_or(|joins| at >= joins));
            let (beat, time_to_live, resolve) = network;
            Case {
                first_turn,
                turns,
                requests,
                requests_from,
                goes_on,
                replicas,
                joins,
                stops,
                beat,
                time_to_live,
                resolve,
            }
        })
}

fn scenario(case: &Case) -> Scenario {
    let number = |turn: u32| case.first_turn + turn;
    let joins: BTreeMap<_, _> = case.joins.iter().map(|(replica, turn)| (replica, number(*turn))).collect();
    let stops = case.stops.iter().map(|((replica, at), (turns, graceful))| {
        let mut stopped = json!({"graceful": graceful});
        if let Some(turns) = turns {
            stopped["for"] = json!(turns);
        }
        json!({"replica": replica, "at": number(*at), "stopped": stopped})
    });
    let file: ScenarioFile = serde_json::from_value(json!({
        "turn": "10ms",
        "turns": case.turns,
        "firstTurn": case.first_turn,
        "requestsPerTurn": case.requests,
        "requestsFrom": number(case.requests_from),
        "rotation": if case.goes_on { "Continuous" } else { "EachTurn" },
        "replicas": {"count": case.replicas, "startup": 0, "joins": joins},
        "faults": stops.collect::<Vec<_>>(),
        "registry": {"beat": case.beat, "timeToLive": case.time_to_live},
        "resolve": match case.resolve {
            Resolve::Static => "static".to_owned(),
            Resolve::Registry => "registry".to_owned(),
            Resolve::Cached(age) => format!("registry,cache={age}"),
        },
    }))
    .unwrap();
    file.check().unwrap()
}
