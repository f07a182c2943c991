//! The model, which runs the real engine, against a naive model of the same lesson written down on its own: whatever
//! the scenario and the policy, every figure must be the same.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use probe_policy::api::{ParsedPolicy, ProbePolicySpec};
use probe_policy::engine::{Phase, Time};
use probe_policy::model;
use probe_policy::scenario::{ScenarioFile, TrueState};
use proptest::prelude::*;
use serde_json::json;

#[derive(Clone, Debug)]
struct Case {
    turns: u32,
    requests: u32,
    startup: Vec<u32>,
    reopenings: Vec<(u32, u32)>,
    stuck: Vec<(u32, u32)>,
    lost: Vec<(u32, u32, u32)>,
    startup_rule: Option<(u32, u32)>,
    liveness: Option<(u32, u32, Scope)>,
    readiness: Option<(u32, u32)>,
    by: By,
}

/// Who asks and restarts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Controller,
    Kubelet,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope {
    Process,
    Dependency,
}

#[derive(Debug, PartialEq)]
struct Figures {
    /// Replica, turn, true state, turns since the stuck fault.
    restarts: Vec<(usize, u32, TrueState, Option<u32>)>,
    errors: Vec<u32>,
    early_errors: u64,
    serving: u64,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn every_figure_is_that_of_the_naive_model(case in case()) {
        let (scenario, policy) = (scenario(&case), policy(&case));
        let run = match case.by {
            By::Controller => model::run(&scenario, &policy).unwrap(),
            By::Kubelet => model::kubelet::run(&scenario, &policy).unwrap(),
        };
        let restarts = run.restarts.iter().map(|r| {
            (r.replica, r.turn, r.state, r.since_stuck.filter(|_| r.state == TrueState::Stuck))
        });
        let figures = Figures {
            restarts: restarts.collect(),
            errors: run.errors.clone(),
            early_errors: run.traffic.early_errors,
            serving: run.serving,
        };
        prop_assert_eq!(figures, naive(&case));
    }
}

/// The lesson's text, turn by turn and request by request. Under the kubelet a container that has ended before is down
/// for 10 turns of a second, then 20, 40 and so on.
fn naive(case: &Case) -> Figures {
    struct Replica {
        opened: Option<u32>,
        stuck_at: Option<u32>,
        started: bool,
        in_pool: bool,
        streaks: [u32; 3],
        ended: u32,
        down_until: Option<u32>,
    }
    let warm = || Replica {
        opened: None,
        stuck_at: None,
        started: true,
        in_pool: true,
        streaks: [0; 3],
        ended: 0,
        down_until: None,
    };
    let mut fleet: Vec<Replica> = case.startup.iter().map(|_| warm()).collect();
    let mut figures = Figures { restarts: vec![], errors: vec![], early_errors: 0, serving: 0 };
    let open = |replica: &mut Replica, turn| {
        *replica = Replica {
            opened: Some(turn),
            stuck_at: None,
            started: case.startup_rule.is_none(),
            in_pool: case.readiness.is_none() && (case.by == By::Controller || case.startup_rule.is_none()),
            streaks: [0; 3],
            ended: replica.ended,
            down_until: None,
        };
    };
    let end = |replica: &mut Replica, turn| {
        replica.ended += 1;
        if case.by == By::Kubelet && replica.ended > 1 {
            replica.in_pool = false;
            replica.down_until = Some(turn + 10 * 2u32.pow(replica.ended - 2));
        } else {
            open(replica, turn);
        }
    };
    let state = |fleet: &[Replica], index: usize, turn: u32| {
        let replica = &fleet[index];
        if replica.down_until.is_some() {
            TrueState::Stopped
        } else if replica.opened.is_some_and(|opened| turn - opened < case.startup[index]) {
            TrueState::Starting
        } else if replica.stuck_at.is_some() {
            TrueState::Stuck
        } else if case.lost.iter().any(|(r, at, turns)| *r as usize == index && (*at..at + turns).contains(&turn)) {
            TrueState::DependencyLost
        } else {
            TrueState::Healthy
        }
    };
    for turn in 0..case.turns {
        for (replica, _) in case.reopenings.iter().filter(|(_, at)| *at == turn) {
            let replica = &mut fleet[*replica as usize];
            if replica.down_until.is_none() {
                end(replica, turn);
            }
        }
        for (replica, _) in case.stuck.iter().filter(|(_, at)| *at == turn) {
            fleet[*replica as usize].stuck_at = Some(turn);
        }
        for index in 0..fleet.len() {
            let now = state(&fleet, index, turn);
            if now == TrueState::Stopped {
                continue;
            }
            let mut restart = false;
            if let (false, Some((period, threshold))) = (fleet[index].started, case.startup_rule) {
                if turn % period == 0 && now != TrueState::Starting {
                    fleet[index].started = true;
                    fleet[index].in_pool |= case.readiness.is_none();
                } else if turn % period == 0 {
                    fleet[index].streaks[0] += 1;
                    restart = fleet[index].streaks[0] == threshold;
                }
            } else {
                if let Some((period, threshold, scope)) = case.liveness.filter(|(period, ..)| turn % period == 0) {
                    let _ = period;
                    let fails = match scope {
                        Scope::Process => matches!(now, TrueState::Starting | TrueState::Stuck),
                        Scope::Dependency => now != TrueState::Healthy,
                    };
                    fleet[index].streaks[1] = if fails { fleet[index].streaks[1] + 1 } else { 0 };
                    restart = fleet[index].streaks[1] == threshold;
                }
                if let Some((_, threshold)) = case.readiness.filter(|(period, _)| turn % period == 0) {
                    if now == TrueState::Healthy {
                        (fleet[index].streaks[2], fleet[index].in_pool) = (0, true);
                    } else {
                        fleet[index].streaks[2] += 1;
                        if fleet[index].streaks[2] >= threshold {
                            fleet[index].in_pool = false;
                        }
                    }
                }
            }
            if restart {
                let since = fleet[index].stuck_at.filter(|_| now == TrueState::Stuck).map(|at| turn - at);
                figures.restarts.push((index, turn, now, since));
                end(&mut fleet[index], turn);
            }
        }
        for replica in fleet.iter_mut().filter(|replica| replica.down_until == Some(turn)) {
            open(replica, turn);
        }
        let pool: Vec<usize> = (0..fleet.len()).filter(|index| fleet[*index].in_pool).collect();
        let mut errors = 0;
        for request in 0..case.requests as usize {
            let member = (!pool.is_empty()).then(|| state(&fleet, pool[request % pool.len()], turn));
            errors += u32::from(member != Some(TrueState::Healthy));
            figures.early_errors += u64::from(member == Some(TrueState::Starting));
        }
        figures.errors.push(errors);
        figures.serving += (0..fleet.len()).filter(|i| state(&fleet, *i, turn) == TrueState::Healthy).count() as u64;
    }
    figures
}

fn case() -> impl Strategy<Value = Case> {
    let counted = || prop::option::of((1u32..6, 1u32..5));
    let scope = prop_oneof![Just(Scope::Process), Just(Scope::Dependency)];
    let liveness = prop::option::of((1u32..6, 1u32..5, scope));
    (1usize..7, 1u32..80)
        .prop_flat_map(move |(replicas, turns)| {
            let (who, when) = (0..replicas as u32, 0..turns);
            (
                (Just(turns), 0u32..30, prop::collection::vec(0u32..12, replicas)),
                prop::collection::btree_set((who.clone(), when.clone()), 0..4),
                prop::collection::btree_set((who.clone(), when.clone()), 0..5),
                prop::collection::btree_map((who, when), 1u32..20, 0..5),
                (counted(), liveness.clone(), counted(), prop_oneof![Just(By::Controller), Just(By::Kubelet)]),
            )
        })
        .prop_map(|((turns, requests, startup), reopenings, stuck, lost, rules)| Case {
            turns,
            requests,
            startup,
            reopenings: reopenings.into_iter().collect(),
            stuck: stuck.into_iter().collect(),
            lost: lost.into_iter().map(|((replica, at), turns)| (replica, at, turns)).collect(),
            startup_rule: rules.0,
            liveness: rules.1,
            readiness: rules.2,
            by: rules.3,
        })
}

fn scenario(case: &Case) -> probe_policy::scenario::Scenario {
    let stuck = case.stuck.iter().map(|(replica, at)| json!({"replica": replica, "at": at, "stuck": {}}));
    let lost = case
        .lost
        .iter()
        .map(|(replica, at, turns)| json!({"replica": replica, "at": at, "dependencyLost": {"for": turns}}));
    let reopenings = case.reopenings.iter().map(|(replica, at)| json!({"replica": replica, "at": at}));
    let file: ScenarioFile = serde_json::from_value(json!({
        "turn": "1s",
        "turns": case.turns,
        "requestsPerTurn": case.requests,
        "replicas": {"startup": case.startup},
        "reopenings": reopenings.collect::<Vec<_>>(),
        "faults": stuck.chain(lost).collect::<Vec<_>>(),
    }))
    .unwrap();
    file.check().unwrap()
}

fn policy(case: &Case) -> ParsedPolicy {
    let rule = |path: &str, period: u32, threshold: u32| {
        let handler = json!({"port": 8080, "path": path});
        json!({"httpGet": handler, "period": format!("{period}s"), "failureThreshold": threshold})
    };
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "fake"}},
        "mode": "Enforce",
        "pool": {"minReady": 0},
        "fleet": {"breaker": {"openAt": "Never"}, "sharedFailure": "Ignore"},
        "restart": {"backoff": {"initial": "0s"}, "giveUpAfter": 0, "maxConcurrent": "100%"},
    });
    if let Some((period, threshold)) = case.startup_rule {
        spec["startup"] = rule("/started", period, threshold);
    }
    if let Some((period, threshold, scope)) = case.liveness {
        let path = if scope == Scope::Process { "/live" } else { "/ready" };
        spec["liveness"] = rule(path, period, threshold);
    }
    if let Some((period, threshold)) = case.readiness {
        spec["readiness"] = rule("/ready", period, threshold);
    }
    let spec: ProbePolicySpec = serde_json::from_value(spec).unwrap();
    spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap()
}
