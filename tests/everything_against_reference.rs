//! The model, which runs the real engine, against a naive model of all that a scenario may say, written down on its own:
//! replicas that join, reopenings, every kind of fault at once, requests of every kind, three rules that ask anything.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use probe_policy::api::{ParsedPolicy, ProbePolicySpec};
use probe_policy::engine::{Phase, RuleKind, Time};
use probe_policy::model;
use probe_policy::scenario::{Scenario, ScenarioFile};
use proptest::prelude::*;
use serde_json::{Value, json};

const STUCK: &str = "stuck";
const KINDS: [&str; 6] = [STUCK, "dependencyLost", "halfDown", "warming", "stopped", "silent"];
const QUESTIONS: [&str; 9] =
    ["tcp", "/started", "/live", "/shallow", "/ready", "/deep-local", "/deep-shared", "/deep-all", "/request"];

#[derive(Clone, Debug)]
struct Case {
    first_turn: u32,
    turns: u32,
    startup: Vec<u32>,
    joins: BTreeMap<usize, u32>,
    reopenings: BTreeSet<(usize, u32)>,
    /// By replica, kind and first turn: for how many turns, or for good.
    faults: BTreeMap<(usize, &'static str, u32), Option<u32>>,
    /// By store and first turn.
    outages: BTreeMap<(&'static str, u32), u32>,
    /// Plain, read, write, batch.
    requests: [u32; 4],
    requests_from: u32,
    continuous: bool,
    startup_rule: Option<Rule>,
    liveness: Option<Rule>,
    readiness: Option<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    question: &'static str,
    period: u32,
    failure_threshold: u32,
    success_threshold: u32,
}

#[derive(Debug, Default, PartialEq)]
struct Figures {
    /// Replica and turn.
    restarts: Vec<(usize, u32)>,
    /// Replica and turn.
    ejections: BTreeSet<(usize, u32)>,
    /// Startup, liveness, readiness.
    attempts: [u64; 3],
    errors: Vec<u32>,
    /// Plain, read, write, batch.
    dropped: [u64; 4],
    lost_silently: u64,
    early_errors: u64,
    vain_rejections: u64,
    out_of_pool: u64,
    serving: u64,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn every_figure_is_that_of_the_naive_model(case in case()) {
        let run = model::run(&scenario(&case), &policy(&case)).unwrap();
        let kinds = run.traffic.kinds;
        let figures = Figures {
            restarts: run.restarts.iter().map(|r| (r.replica, r.turn)).collect(),
            ejections: run.ejections.iter().map(|e| (e.replica, e.turn)).collect(),
            attempts: [RuleKind::Startup, RuleKind::Liveness, RuleKind::Readiness].map(|rule| run.attempts[rule]),
            dropped: [kinds.plain, kinds.read, kinds.write, kinds.batch].map(|tally| tally.dropped),
            lost_silently: kinds.write.lost_silently,
            early_errors: run.traffic.early_errors,
            vain_rejections: run.traffic.vain_rejections,
            out_of_pool: run.out_of_pool,
            serving: run.serving,
            errors: run.errors,
        };
        prop_assert_eq!(figures, naive(&case));
    }
}

/// A replica of the naive model.
struct Replica {
    there: bool,
    opened: Option<u32>,
    stuck: bool,
    started: bool,
    in_pool: bool,
    /// Failed and passed attempts in a row: startup, liveness, readiness.
    streaks: [(u32, u32); 3],
}

/// Turn by turn, replica by replica and request by request.
fn naive(case: &Case) -> Figures {
    let mut figures = Figures::default();
    let mut fleet: Vec<Replica> = (0..case.startup.len())
        .map(|replica| {
            let there = !case.joins.contains_key(&replica);
            Replica { there, opened: None, stuck: false, started: true, in_pool: there, streaks: [(0, 0); 3] }
        })
        .collect();
    let mut counter = 0;
    for turn in case.first_turn..case.first_turn + case.turns {
        let opened = case.joins.iter().map(|(k, t)| (*k, *t)).chain(case.reopenings.iter().copied());
        for (replica, _) in opened.filter(|(_, at)| *at == turn) {
            open(case, &mut fleet[replica], turn);
        }
        for (replica, kind, at) in case.faults.keys() {
            fleet[*replica].stuck |= *kind == STUCK && *at == turn;
        }
        for (index, replica) in fleet.iter_mut().enumerate() {
            judge(case, replica, index, turn, &mut figures);
        }
        let pool: Vec<usize> = (0..fleet.len()).filter(|k| fleet[*k].there && fleet[*k].in_pool).collect();
        figures.out_of_pool += (fleet.iter().filter(|r| r.there).count() - pool.len()) as u64;
        figures.serving += (0..fleet.len()).filter(|k| is_healthy(case, &fleet[*k], *k, turn)).count() as u64;
        if !case.continuous {
            counter = 0;
        }
        let before: u64 = figures.dropped.iter().sum();
        for (kind, requests) in case.requests.iter().enumerate() {
            for _ in 0..if turn < case.requests_from { 0 } else { *requests } {
                send(case, &fleet, &pool, kind, turn, &mut counter, &mut figures);
            }
        }
        figures.errors.push((figures.dropped.iter().sum::<u64>() - before) as u32);
    }
    figures
}

fn open(case: &Case, replica: &mut Replica, turn: u32) {
    *replica = Replica {
        there: true,
        opened: Some(turn),
        stuck: false,
        started: case.startup_rule.is_none(),
        in_pool: case.readiness.is_none(),
        streaks: [(0, 0); 3],
    };
}

/// Every rule that is due asks about the state as it is; then what they have found is done.
fn judge(case: &Case, replica: &mut Replica, index: usize, turn: u32, figures: &mut Figures) {
    if !replica.there {
        return;
    }
    let mut restart = false;
    let started = replica.started;
    for (which, rule) in [&case.startup_rule, &case.liveness, &case.readiness].into_iter().enumerate() {
        let Some(rule) = rule else { continue };
        let is_startup = which == 0;
        if is_startup == started || !(turn - case.first_turn).is_multiple_of(rule.period) {
            continue;
        }
        figures.attempts[which] += 1;
        let yes = says_yes(case, replica, index, turn, rule.question);
        let (failed, passed) = replica.streaks[which];
        let (failed, passed) = if yes { (0, passed + 1) } else { (failed + 1, 0) };
        replica.streaks[which] = (failed, passed);
        let (fails, passes) = (failed >= rule.failure_threshold, passed >= rule.success_threshold);
        match which {
            0 if passes => replica.started = true,
            0 | 1 => restart |= fails,
            _ if fails && replica.in_pool => {
                replica.in_pool = false;
                figures.ejections.insert((index, turn));
            }
            _ => replica.in_pool |= passes,
        }
    }
    if restart {
        figures.restarts.push((index, turn));
        open(case, replica, turn);
    }
}

fn send(
    case: &Case,
    fleet: &[Replica],
    pool: &[usize],
    kind: usize,
    turn: u32,
    counter: &mut usize,
    figures: &mut Figures,
) {
    let is_read = kind == 1;
    if pool.is_empty() {
        figures.dropped[kind] += 1;
        let somebody = (0..fleet.len()).any(|k| fleet[k].there && can_read(case, &fleet[k], k, turn));
        figures.vain_rejections += u64::from(is_read && somebody);
        return;
    }
    if kind == 3 {
        if is_down(case, "billing", turn) {
            figures.dropped[kind] += 1;
        } else {
            *counter += 1;
        }
        return;
    }
    let index = pool[*counter % pool.len()];
    *counter += 1;
    let replica = &fleet[index];
    if !can_read(case, replica, index, turn) {
        figures.dropped[kind] += 1;
        figures.early_errors += u64::from(is_starting(case, replica, index, turn));
    } else if kind == 2 && has(case, index, "halfDown", turn) {
        figures.lost_silently += 1;
    } else if kind == 2 && is_down(case, "state", turn) {
        figures.dropped[kind] += 1;
    }
}

fn says_yes(case: &Case, replica: &Replica, index: usize, turn: u32, question: &str) -> bool {
    let stopped = has(case, index, "stopped", turn);
    let local = can_read(case, replica, index, turn) && !has(case, index, "halfDown", turn);
    match question {
        "tcp" => !stopped,
        "/started" => !is_starting(case, replica, index, turn) && !stopped && !has(case, index, "silent", turn),
        "/live" | "/shallow" => is_up(case, replica, index, turn),
        "/ready" | "/request" => can_read(case, replica, index, turn),
        "/deep-local" => local,
        "/deep-shared" => local && !is_down(case, "state", turn),
        "/deep-all" => local && !is_down(case, "state", turn) && !is_down(case, "billing", turn),
        other => panic!("{other}"),
    }
}

fn is_healthy(case: &Case, replica: &Replica, index: usize, turn: u32) -> bool {
    replica.there && can_read(case, replica, index, turn) && !has(case, index, "halfDown", turn)
}

fn can_read(case: &Case, replica: &Replica, index: usize, turn: u32) -> bool {
    is_up(case, replica, index, turn) && !has(case, index, "warming", turn) && !has(case, index, "dependencyLost", turn)
}

fn is_up(case: &Case, replica: &Replica, index: usize, turn: u32) -> bool {
    !is_starting(case, replica, index, turn)
        && !replica.stuck
        && !has(case, index, "stopped", turn)
        && !has(case, index, "silent", turn)
}

fn is_starting(case: &Case, replica: &Replica, index: usize, turn: u32) -> bool {
    replica.opened.is_some_and(|opened| turn - opened < case.startup[index])
}

fn has(case: &Case, index: usize, kind: &str, turn: u32) -> bool {
    let lasts = |at: u32, turns: Option<u32>| at <= turn && turns.is_none_or(|turns| turn < at + turns);
    case.faults.iter().any(|((k, what, at), turns)| *k == index && *what == kind && lasts(*at, *turns))
}

fn is_down(case: &Case, store: &str, turn: u32) -> bool {
    case.outages.iter().any(|((which, at), turns)| *which == store && *at <= turn && turn < at + turns)
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..6, 0u32..4, 1u32..70).prop_flat_map(|(replicas, first_turn, turns)| {
        let (who, when) = (0..replicas, first_turn..first_turn + turns);
        let fault = (who.clone(), prop::sample::select(KINDS.to_vec()), when.clone());
        let outage = (prop::sample::select(vec!["state", "billing"]), when.clone());
        let world = (
            prop::collection::vec(0u32..9, replicas),
            prop::collection::btree_map(who.clone(), when.clone(), 0..3),
            prop::collection::btree_set((who, when.clone()), 0..4),
            prop::collection::btree_map(fault, prop::option::weighted(0.9, 1u32..20), 0..9),
            prop::collection::btree_map(outage, 1u32..20, 0..3),
        );
        let requests = ([0u32..20, 0u32..9, 0u32..9, 0u32..4], when, any::<bool>());
        let rules = (rule(1), rule(1), rule(3));
        (Just((first_turn, turns)), world, requests, rules).prop_map(|(turns, world, requests, rules)| {
            let (startup, joins, reopenings, faults, outages) = world;
            let is_there = |replica: &usize, at: &u32| joins.get(replica).is_none_or(|joins| joins <= at);
            Case {
                first_turn: turns.0,
                turns: turns.1,
                startup,
                reopenings: reopenings.into_iter().filter(|(k, at)| is_there(k, at)).collect(),
                faults: faults.into_iter().filter(|((k, _, at), _)| is_there(k, at)).collect(),
                joins: joins.clone(),
                outages,
                requests: requests.0,
                requests_from: requests.1,
                continuous: requests.2,
                startup_rule: rules.0,
                liveness: rules.1,
                readiness: rules.2,
            }
        })
    })
}

fn rule(most_passes: u32) -> impl Strategy<Value = Option<Rule>> {
    let parts = (prop::sample::select(QUESTIONS.to_vec()), 1u32..6, 1u32..5, 1..=most_passes);
    prop::option::of(parts.prop_map(|(question, period, failure_threshold, success_threshold)| Rule {
        question,
        period,
        failure_threshold,
        success_threshold,
    }))
}

fn scenario(case: &Case) -> Scenario {
    let [plain, read, write, batch] = case.requests;
    let reopenings = case.reopenings.iter().map(|(replica, at)| json!({"replica": replica, "at": at}));
    let faults = case.faults.iter().map(|((replica, kind, at), turns)| {
        // Only a stop may be for good.
        let how = match (*kind, turns) {
            (STUCK, _) | ("stopped", None) => json!({}),
            (_, turns) => json!({"for": turns.unwrap_or(1_000)}),
        };
        let mut fault = json!({"replica": replica, "at": at});
        fault[*kind] = how;
        fault
    });
    let outages =
        case.outages.iter().map(|((store, at), turns)| json!({"store": store, "at": at, "down": {"for": turns}}));
    let file: ScenarioFile = serde_json::from_value(json!({
        "turn": "1s",
        "turns": case.turns,
        "firstTurn": case.first_turn,
        "requestsPerTurn": {"plain": plain, "read": read, "write": write, "batch": batch},
        "requestsFrom": case.requests_from,
        "rotation": if case.continuous { "Continuous" } else { "EachTurn" },
        "replicas": {"startup": case.startup, "joins": case.joins},
        "reopenings": reopenings.collect::<Vec<_>>(),
        "faults": faults.chain(outages).collect::<Vec<_>>(),
    }))
    .unwrap();
    file.check().unwrap()
}

fn policy(case: &Case) -> ParsedPolicy {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "fake"}},
        "mode": "Enforce",
        "restart": {"backoff": {"initial": "0s"}, "giveUpAfter": 0, "maxConcurrent": "100%"},
        "pool": {"minReady": 0},
        "fleet": {"breaker": {"openAt": "Never"}, "sharedFailure": "Ignore"},
    });
    for (name, rule) in [("startup", &case.startup_rule), ("liveness", &case.liveness), ("readiness", &case.readiness)]
    {
        if let Some(rule) = rule {
            spec[name] = asking(rule);
        }
    }
    let spec: ProbePolicySpec = serde_json::from_value(spec).unwrap();
    spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap()
}

fn asking(rule: &Rule) -> Value {
    let mut asking = json!({
        "period": format!("{}s", rule.period),
        "failureThreshold": rule.failure_threshold,
        "successThreshold": rule.success_threshold,
    });
    match rule.question {
        "tcp" => asking["tcpSocket"] = json!({"port": 8080}),
        path => asking["httpGet"] = json!({"port": 8080, "path": path}),
    }
    asking
}
