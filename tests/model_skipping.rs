//! A run that skips what changes nothing, against the same run turn by turn and attempt by attempt: whatever the
//! scenario and the policy, all that comes of them is the same.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use probe_policy::api::{ParsedPolicy, ProbePolicySpec};
use probe_policy::engine::{Phase, Time};
use probe_policy::model::{self, Observer, kubelet};
use probe_policy::scenario::{Scenario, ScenarioFile};
use proptest::prelude::*;
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn a_run_that_skips_comes_to_what_a_run_that_steps_comes_to(scenario in scenario(), policy in policy()) {
        let skipped = model::run(&scenario, &policy).unwrap();
        prop_assert_eq!(skipped, model::observe(&scenario, &policy, &mut Watcher).unwrap());
    }

    #[test]
    fn so_does_one_under_the_kubelet(scenario in scenario(), policy in policy()) {
        let skipped = kubelet::run(&scenario, &policy).unwrap();
        prop_assert_eq!(skipped, kubelet::observe(&scenario, &policy, &mut Watcher).unwrap());
    }
}

struct Watcher;
impl Observer for Watcher {}

fn scenario() -> impl Strategy<Value = Scenario> {
    let requests = (0u32..9, 0u32..9, 0u32..5, 0u32..3)
        .prop_map(|(plain, read, write, batch)| json!({"plain": plain, "read": read, "write": write, "batch": batch}));
    let fleet = (1u32..7, 1u32..150, 0u32..4).prop_flat_map(|(count, turns, first)| {
        let turn = || first..first + turns;
        (
            Just((count, turns, first)),
            prop::option::weighted(0.3, turn()),
            prop::collection::btree_map(0..count, turn(), 0..2),
            prop::collection::btree_set((0..count, turn()), 0..4),
            prop::collection::btree_map((0u32..2, turn()), 1u32..20, 0..3),
            prop::collection::btree_map((0..count, turn()), 0u32..5, 0..3),
            prop::collection::btree_map((0u32..3, turn()), 1u32..40, 0..3),
            prop::collection::btree_map(0..count, 0u32..2, 0..4),
        )
    });
    let chances = prop::collection::vec((0usize..6, 5u32..80, 1u32..20), 0..4);
    let chance = (chances, 0u32..4, 0u32..12, any::<u64>());
    let network = (
        prop::sample::select(vec!["EachTurn", "Continuous"]),
        prop::sample::select(vec!["static", "static", "registry", "registry,cache=4"]),
        prop::sample::select(vec![None, None, Some("L7"), Some("L4"), Some("None")]),
    );
    (fleet, requests, chance, network).prop_map(|(fleet, requests, (chances, jitter, startup, seed), network)| {
        let (rotation, resolve, propagation) = network;
        let ((count, turns, first), requests_from, joins, reopenings, stores, stuck, cuts, revisions) = fleet;
        let joined = |replica: &u32, turn: &u32| joins.get(replica).is_none_or(|joins| joins < turn);
        let stores = stores.iter().map(|((store, at), turns)| {
            let store = ["state", "billing"][*store as usize];
            json!({"store": store, "at": at, "down": {"for": turns}})
        });
        let stuck = stuck.keys().filter(|(replica, at)| joined(replica, at));
        let stuck = stuck.map(|(replica, at)| json!({"replica": replica, "at": at, "stuck": {}}));
        let cuts = cuts.iter().map(|((node, at), turns)| json!({"node": node, "at": at, "cut": {"for": turns}}));
        let reopenings = reopenings.iter().filter(|(replica, at)| joined(replica, at));
        let file: ScenarioFile = serde_json::from_value(json!({
            "turn": "1s",
            "turns": turns,
            "firstTurn": first,
            "requestsPerTurn": requests,
            "requestsFrom": requests_from.unwrap_or(first),
            "rotation": rotation,
            "registry": {"beat": 2, "timeToLive": 6},
            "resolve": resolve,
            "propagation": propagation,
            "replicas": {"count": count, "startup": startup, "joins": joins, "nodes": 3, "revisions": revisions},
            "reopenings": reopenings.map(|(replica, at)| json!({"replica": replica, "at": at})).collect::<Vec<_>>(),
            "faults": stores.chain(stuck).chain(cuts).collect::<Vec<_>>(),
            "startupJitter": jitter,
            "randomFaults": chances.into_iter().map(chance_of).collect::<Vec<_>>(),
        }))
        .unwrap();
        file.check().unwrap().seeded(seed)
    })
}

fn chance_of((kind, every, turns): (usize, u32, u32)) -> Value {
    let kind = ["stuck", "dependencyLost", "halfDown", "warming", "stopped", "silent"][kind];
    let lasts = if kind == "stuck" { json!({}) } else { json!({"for": turns}) };
    json!({kind: lasts, "every": every})
}

fn policy() -> impl Strategy<Value = ParsedPolicy> {
    let paths = ["/started", "/live", "/ready", "/deep-local", "/deep-shared", "/deep-all"];
    let rule = move || {
        let window = prop::option::of((1u32..5, 0u32..5));
        let thresholds = (1u32..5, 1u32..4, window);
        let timing = (1u32..7, 0u32..6_000, thresholds, [prop::option::of(1u32..6), prop::option::of(1u32..6)]);
        (prop::option::weighted(0.95, prop::sample::select(paths.to_vec())), timing).prop_map(
            |(path, (period, delay, (failures, successes, window), quicker))| {
                let mut rule = json!({
                    "period": format!("{period}s"),
                    "timeout": "1s",
                    "initialDelay": format!("{delay}ms"),
                    "failureThreshold": failures,
                    "successThreshold": successes,
                });
                if let Some((failures, passes)) = window {
                    rule["failureWindow"] = json!({"failures": failures, "attempts": failures + passes});
                }
                for (name, quicker) in ["startupPeriod", "fastPeriod"].into_iter().zip(quicker) {
                    if let Some(quicker) = quicker.filter(|quicker| *quicker < period) {
                        rule[name] = json!(format!("{quicker}s"));
                    }
                }
                match path {
                    Some(path) => rule["httpGet"] = json!({"port": 8080, "path": path}),
                    None => rule["tcpSocket"] = json!({"port": 8080}),
                }
                rule
            },
        )
    };
    let rules = (prop::option::of(rule()), prop::option::weighted(0.8, rule()), prop::option::weighted(0.8, rule()));
    let budget = prop::option::weighted(0.3, (1u32..4, 1u32..120));
    let budget =
        budget.prop_map(|budget| budget.map(|(restarts, per)| json!({"restarts": restarts, "per": format!("{per}s")})));
    let restart = (0u32..8_000, 1u32..4, 1u32..60, 21u32..90, 0u32..4, budget);
    let modes = prop_oneof![8 => Just("Enforce"), 3 => Just("Observe"), 1 => Just("Paused")];
    let shared = prop::sample::select(vec!["Hold", "Ignore"]);
    let open_at = prop::sample::select(vec![json!("Never"), json!("25%"), json!("50%"), json!("100%"), json!(2)]);
    let breaker = (open_at, 2u32..5, 1u32..20, 0u32..20).prop_map(|(open_at, judged, cooldown, trial)| {
        json!({
            "openAt": open_at,
            "minJudged": judged,
            "cooldown": format!("{cooldown}s"),
            "trial": format!("{trial}s"),
        })
    });
    let min_ready = prop::sample::select(vec![json!(0), json!("50%"), json!("100%"), json!(2)]);
    let when_below = prop::sample::select(vec!["Hold", "Open", "Close"]);
    let change = prop::sample::select(vec!["Keep", "Prepare", "Rolling"]);
    let dwell = (0u32..9, 0u32..9, 1u32..60);
    let pool = (min_ready, when_below, 1u32..20, change, dwell);
    let pool = pool.prop_map(|(min_ready, when_below, cooldown, change, (dwell, initial, decay_after))| {
        json!({
            "minReady": min_ready,
            "whenBelow": when_below,
            "cooldown": format!("{cooldown}s"),
            "onPolicyChange": change,
            "dwell": format!("{dwell}s"),
            "ejectionBackoff": {"initial": format!("{initial}s"), "decayAfter": format!("{decay_after}s")},
        })
    });
    let store = prop::sample::select(vec!["state", "billing"]);
    let when_down = prop::sample::select(vec!["HoldEjections", "HoldAll"]);
    let dependency = (store, 1u32..12, 1u32..4, 1u32..3, when_down).prop_map(|(store, period, fails, passes, held)| {
        json!({
            "name": store,
            "selector": {"matchLabels": {"app": store}},
            "httpGet": {"port": 8080, "path": format!("/up/{store}")},
            "period": format!("{period}s"),
            "failureThreshold": fails,
            "successThreshold": passes,
            "whenDown": held,
        })
    });
    let dependencies = prop::option::weighted(0.3, dependency).prop_map(|it| it.into_iter().collect::<Vec<_>>());
    let fleet = (breaker, shared, dependencies).prop_map(|(breaker, shared, dependencies)| {
        json!({"breaker": breaker, "sharedFailure": shared, "dependencies": dependencies})
    });
    let rules = (rules, prop::option::weighted(0.3, 1u32..12));
    (rules, restart, modes, pool, fleet).prop_map(
        |(((startup, liveness, readiness), lives), restart, mode, pool, fleet)| {
            let (backoff, at_once, deadline, reset, give_up_after, budget) = restart;
            let mut spec = json!({
                "selector": {"matchLabels": {"app": "fake"}},
                "mode": mode,
                "restart": {
                    "backoff": {"initial": format!("{backoff}ms"), "max": "20s", "resetAfter": format!("{reset}s")},
                    "maxConcurrent": at_once,
                    "deadline": format!("{deadline}s"),
                    "giveUpAfter": give_up_after,
                    "budget": budget,
                },
                "pool": pool,
                "fleet": fleet,
            });
            if let Some(lives) = lives {
                spec["heartbeat"] = json!({"timeToLive": format!("{lives}s")});
            }
            for (name, rule) in [("startup", startup), ("liveness", liveness), ("readiness", readiness)] {
                let Some(mut rule) = rule else { continue };
                if name != "readiness" {
                    rule["successThreshold"] = json!(1);
                    rule.as_object_mut().unwrap().remove("startupPeriod");
                }
                if name == "startup" {
                    rule.as_object_mut().unwrap().remove("fastPeriod");
                    rule.as_object_mut().unwrap().remove("failureWindow");
                }
                spec[name] = rule;
            }
            let spec: ProbePolicySpec = serde_json::from_value(spec).unwrap();
            spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap()
        },
    )
}
