//! The model, which runs the real engine, against a naive model of the lesson "depth" written down on its own: whatever
//! the fleet, its faults, the endpoint, the interval and the thresholds, every figure must be the same.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use probe_policy::api::{ParsedPolicy, ProbePolicySpec};
use probe_policy::engine::{OutcomeClass, Phase, RuleKind, Time};
use probe_policy::model::{self, Attempt, Moment, Observer};
use probe_policy::scenario::{Scenario, ScenarioFile, TrueState};
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
struct Case {
    replicas: u32,
    first_turn: u32,
    turns: u32,
    /// Reads, writes, batch jobs.
    requests: [u32; 3],
    requests_from: u32,
    faults: Vec<Fault>,
    content: &'static str,
    interval: u32,
    failure_threshold: u32,
    success_threshold: u32,
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    what: What,
    from: u32,
    /// Inclusive.
    through: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    HalfDown(u32),
    Warming(u32),
    Stopped(u32),
    Silent(u32),
    StateStore,
    BillingStore,
}

#[derive(Debug, Default, PartialEq)]
struct Figures {
    out_of_pool: u64,
    dropped: [u64; 3],
    silent_losses: u64,
    vain_rejections: u64,
    checks: u64,
    /// Turn and replica of every check that turned an admitted replica out, and whether it was silent.
    ejections: Vec<(u32, usize, bool)>,
    /// Turn and replica of every check that got a no.
    noes: Vec<(u32, usize)>,
    errors: Vec<u32>,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn every_figure_is_that_of_the_naive_model(case in case()) {
        let mut noes = Noes::default();
        let run = model::observe(&scenario(&case), &policy(&case), &mut noes).unwrap();
        let kinds = run.traffic.kinds;
        let ejections = run.ejections.iter();
        let figures = Figures {
            out_of_pool: run.out_of_pool,
            dropped: [kinds.read.dropped, kinds.write.dropped, kinds.batch.dropped],
            silent_losses: kinds.write.lost_silently,
            vain_rejections: run.traffic.vain_rejections,
            checks: run.attempts[RuleKind::Readiness],
            ejections: ejections.map(|e| (e.turn, e.replica, e.condition.is(TrueState::Silent))).collect(),
            noes: noes.0,
            errors: run.errors.clone(),
        };
        prop_assert_eq!(figures, naive(&case));
        prop_assert_eq!((run.restarts.len(), run.traffic.early_errors), (0, 0));
    }
}

#[derive(Default)]
struct Noes(Vec<(u32, usize)>);

impl Observer for Noes {
    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        if attempt.outcome != OutcomeClass::Passed {
            self.0.push((at.turn, attempt.replica));
        }
    }
}

/// The lesson's text, turn by turn and request by request.
fn naive(case: &Case) -> Figures {
    let replicas = case.replicas as usize;
    let mut figures = Figures::default();
    let mut admitted = vec![true; replicas];
    let (mut noes, mut yeses) = (vec![0; replicas], vec![0; replicas]);
    let mut counter = 0;
    for turn in case.first_turn..case.first_turn + case.turns {
        let holds = |what: What| case.faults.iter().any(|f| f.what == what && f.from <= turn && turn <= f.through);
        let up = |k: usize| !holds(What::Stopped(k as u32)) && !holds(What::Silent(k as u32));
        let can_read = |k: usize| up(k) && !holds(What::Warming(k as u32));
        let says_yes = |k: usize| {
            let local = can_read(k) && !holds(What::HalfDown(k as u32));
            match case.content {
                "/shallow" => up(k),
                "/ready" => can_read(k),
                "/deep-local" => local,
                "/deep-shared" => local && !holds(What::StateStore),
                "/deep-all" => local && !holds(What::StateStore) && !holds(What::BillingStore),
                other => panic!("{other}"),
            }
        };
        if (turn - case.first_turn).is_multiple_of(case.interval) {
            for k in 0..replicas {
                figures.checks += 1;
                if says_yes(k) {
                    (noes[k], yeses[k]) = (0, yeses[k] + 1);
                } else {
                    (noes[k], yeses[k]) = (noes[k] + 1, 0);
                    figures.noes.push((turn, k));
                }
                if admitted[k] && noes[k] >= case.failure_threshold {
                    admitted[k] = false;
                    figures.ejections.push((turn, k, holds(What::Silent(k as u32))));
                } else if !admitted[k] && yeses[k] >= case.success_threshold {
                    admitted[k] = true;
                }
            }
        }
        let pool: Vec<usize> = (0..replicas).filter(|k| admitted[*k]).collect();
        figures.out_of_pool += (replicas - pool.len()) as u64;
        let mut errors = 0;
        if turn >= case.requests_from {
            for _ in 0..case.requests[0] {
                let served = !pool.is_empty() && {
                    counter += 1;
                    can_read(pool[(counter - 1) % pool.len()])
                };
                if !served {
                    errors += 1;
                    figures.dropped[0] += 1;
                }
                if pool.is_empty() && (0..replicas).any(can_read) {
                    figures.vain_rejections += 1;
                }
            }
            for _ in 0..case.requests[1] {
                let replica = (!pool.is_empty()).then(|| {
                    counter += 1;
                    pool[(counter - 1) % pool.len()]
                });
                let readable = replica.filter(|k| can_read(*k));
                if readable.is_some_and(|k| holds(What::HalfDown(k as u32))) {
                    figures.silent_losses += 1;
                } else if readable.is_none() || holds(What::StateStore) {
                    errors += 1;
                    figures.dropped[1] += 1;
                }
            }
            for _ in 0..case.requests[2] {
                if pool.is_empty() || holds(What::BillingStore) {
                    errors += 1;
                    figures.dropped[2] += 1;
                } else {
                    counter += 1;
                }
            }
        }
        figures.errors.push(errors);
    }
    figures
}

fn case() -> impl Strategy<Value = Case> {
    let contents = ["/shallow", "/ready", "/deep-local", "/deep-shared", "/deep-all"];
    (1u32..7, 0u32..5, 1u32..90)
        .prop_flat_map(move |(replicas, first_turn, turns)| {
            let what = (0..6, 0..replicas).prop_map(|(kind, replica)| match kind {
                0 => What::HalfDown(replica),
                1 => What::Warming(replica),
                2 => What::Stopped(replica),
                3 => What::Silent(replica),
                4 => What::StateStore,
                _ => What::BillingStore,
            });
            let last = first_turn + turns - 1;
            let length = prop_oneof![0u32..3, 0u32..40];
            let fault = (what, first_turn..=last).prop_flat_map(move |(what, from)| {
                length.clone().prop_map(move |length| ((what, from), (from + length).min(last)))
            });
            (
                (Just(replicas), Just(first_turn), Just(turns), first_turn..=last),
                (0u32..20, 0u32..8, 0u32..4),
                prop::collection::vec(fault, 0..9),
                (prop::sample::select(contents.to_vec()), 1u32..9, 1u32..4, 1u32..4),
            )
        })
        .prop_map(|(fleet, requests, faults, rule)| {
            let (replicas, first_turn, turns, requests_from) = fleet;
            let (content, interval, failure_threshold, success_threshold) = rule;
            // No two of a kind begin in the same turn.
            let faults = faults.into_iter().collect::<std::collections::BTreeMap<_, _>>();
            Case {
                replicas,
                first_turn,
                turns,
                requests: requests.into(),
                requests_from,
                faults: faults.into_iter().map(|((what, from), through)| Fault { what, from, through }).collect(),
                content,
                interval,
                failure_threshold,
                success_threshold,
            }
        })
}

fn scenario(case: &Case) -> Scenario {
    let [read, write, batch] = case.requests;
    let file: ScenarioFile = serde_json::from_value(json!({
        "turn": "2s",
        "turns": case.turns,
        "firstTurn": case.first_turn,
        "requestsPerTurn": {"read": read, "write": write, "batch": batch},
        "requestsFrom": case.requests_from,
        "rotation": "Continuous",
        "replicas": {"count": case.replicas, "startup": 0},
        "faults": case.faults.iter().map(fault).collect::<Vec<_>>(),
    }))
    .unwrap();
    file.check().unwrap()
}

/// Written with `for` in even turns and with `through` in odd ones.
fn fault(fault: &Fault) -> Value {
    let Fault { what, from: at, through } = *fault;
    let end = if at % 2 == 0 { json!({"for": through - at + 1}) } else { json!({"through": through}) };
    match what {
        What::HalfDown(replica) => json!({"replica": replica, "at": at, "halfDown": end}),
        What::Warming(replica) => json!({"replica": replica, "at": at, "warming": end}),
        What::Stopped(replica) => json!({"replica": replica, "at": at, "stopped": end}),
        What::Silent(replica) => json!({"replica": replica, "at": at, "silent": end}),
        What::StateStore => json!({"store": "state", "at": at, "down": end}),
        What::BillingStore => json!({"store": "billing", "at": at, "down": end}),
    }
}

fn policy(case: &Case) -> ParsedPolicy {
    let spec: ProbePolicySpec = serde_json::from_value(json!({
        "selector": {"matchLabels": {"app": "fake"}},
        "mode": "Enforce",
        "readiness": {
            "httpGet": {"port": "http", "path": case.content},
            "period": format!("{}s", 2 * case.interval),
            "failureThreshold": case.failure_threshold,
            "successThreshold": case.success_threshold,
        },
        "pool": {"minReady": 0},
        "fleet": {"breaker": {"openAt": "Never"}, "sharedFailure": "Ignore"},
    }))
    .unwrap();
    spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap()
}
