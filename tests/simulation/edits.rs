//! Policies, and edits of every field that the engine reads.

use std::num::NonZeroU32;

use probe_policy::engine::{
    Amount, Backoff, BreakerSettings, BudgetSettings, Dependency, DependencyName, DwellSettings, EjectionBackoff,
    FailureWindow, FleetSettings, FloorSettings, Heartbeat, Mode, OnPolicyChange, OtherOwners, PerRule, Phase, Policy,
    Pool, Question, RestartMethod, RestartSettings, Rule, RuleKind, SharedFailure, Span, Time, WhenBelow, WhenDown,
};

use super::random::Random;
use super::reference::LONGEST;

/// The names of what policies may list.
pub const DEPENDENCIES: [&str; 2] = ["store", "cache"];
/// The shortest deadline of a restart.
pub const SHORTEST_DEADLINE: Span = Span::from_secs(20);
/// The longest time that anything in a policy takes.
pub const LATEST: Span = Span::from_secs(60);

const BREAKER: BreakerSettings = BreakerSettings {
    open_at: Amount::Percent(50),
    min_judged: 2,
    cooldown: Span::from_secs(3),
    trial: Some(Span::from_secs(3)),
};
const FLOOR: FloorSettings =
    FloorSettings { min_ready: Amount::Count(3), when_below: WhenBelow::Hold, cooldown: Span::from_secs(2) };

/// A policy to begin with. Some have what others have not.
pub fn policy(random: &mut Random) -> Policy {
    let phase = if random.one_in(2) { Phase::Spread } else { Phase::Aligned { origin: Time::ZERO } };
    let mut spec = usual(phase);
    for _ in 0..random.below(4) {
        add(&mut spec, random);
    }
    spec
}

fn usual(phase: Phase) -> Policy {
    Policy {
        generation: 1,
        mode: Mode::Enforce,
        paused_until: None,
        heartbeat: None,
        rules: PerRule { startup: Some(rule(4)), liveness: Some(rule(3)), readiness: Some(rule(1)) },
        restart: RestartSettings {
            method: RestartMethod::Evict,
            max_concurrent: Amount::Count(2),
            backoff: Backoff {
                initial: Span::from_secs(4),
                max: Span::from_secs(16),
                reset_after: Span::from_secs(30),
            },
            grace_period: Span::from_secs(1),
            budget: None,
            deadline: LATEST,
            loop_after: count(3),
            give_up_after: Some(count(2)),
            other_owners: OtherOwners::Refuse,
        },
        pool: Pool::ReadinessGate,
        floor: Some(FLOOR),
        on_policy_change: OnPolicyChange::Keep,
        dwell: None,
        fleet: FleetSettings { breaker: Some(BREAKER), shared_failure: SharedFailure::Hold },
        dependencies: Vec::new(),
        phase,
    }
}

/// Changes one field.
pub fn edit(spec: &mut Policy, random: &mut Random) {
    spec.generation += 1;
    match random.below(36) {
        0..7 => edit_rule(spec, random),
        7 => spec.mode = random.pick(&[Mode::Observe, Mode::Paused]),
        8..11 => spec.mode = Mode::Enforce,
        11 => spec.pool = random.pick(&[Pool::ReadinessGate, Pool::EndpointSlice, Pool::None]),
        12 => spec.floor = [None, Some(FLOOR)][random.below(2) as usize],
        13 => {
            if let Some(floor) = &mut spec.floor {
                floor.when_below = random.pick(&[WhenBelow::Hold, WhenBelow::Open, WhenBelow::Close]);
                floor.min_ready = random.pick(&[Amount::Count(3), Amount::Percent(50), Amount::Count(1)]);
                floor.cooldown = seconds(random, 5);
            }
        }
        14 => spec.fleet.breaker = [None, Some(BREAKER)][random.below(2) as usize],
        15 => {
            if let Some(breaker) = &mut spec.fleet.breaker {
                breaker.open_at = random.pick(&[Amount::Percent(50), Amount::Percent(30), Amount::Count(4)]);
                breaker.min_judged = 1 + random.below(4) as u32;
                breaker.cooldown = seconds(random, 6);
                breaker.trial = [None, Some(seconds(random, 6))][random.below(2) as usize];
            }
        }
        16 => spec.fleet.shared_failure = random.pick(&[SharedFailure::Hold, SharedFailure::Ignore]),
        17 => spec.restart.max_concurrent = random.pick(&[Amount::Count(1), Amount::Count(3), Amount::Percent(50)]),
        18 => spec.restart.backoff.initial = seconds(random, 30),
        19 => spec.restart.backoff.max = seconds(random, 40),
        20 => spec.restart.backoff.reset_after = Span::from_secs(10) + seconds(random, 50),
        21 => spec.restart.deadline = SHORTEST_DEADLINE + seconds(random, 40),
        22 => spec.restart.give_up_after = NonZeroU32::new(random.below(4) as u32),
        23..30 => add(spec, random),
        30 => spec.restart.budget = None,
        31 => spec.heartbeat = None,
        32 => spec.dwell = None,
        33 | 34 => {
            if let Some(rule) = &mut spec.rules.readiness {
                rule.question = Question(random.below(1_000_000));
            }
        }
        _ => {
            spec.restart.loop_after = count(1 + random.below(4));
            spec.restart.method = random.pick(&[RestartMethod::Evict, RestartMethod::Delete]);
            spec.restart.other_owners = random.pick(&[OtherOwners::Refuse, OtherOwners::Restart]);
        }
    }
}

/// Adds, or sets anew, what a policy need not have.
fn add(spec: &mut Policy, random: &mut Random) {
    match random.below(6) {
        0 => {
            let per = Span::from_secs(20 + random.below(60));
            spec.restart.budget = Some(BudgetSettings { restarts: count(1 + random.below(3)), per });
        }
        1 => spec.heartbeat = Some(Heartbeat { time_to_live: Span::from_secs(2) + seconds(random, 4) }),
        2 => {
            let initial = Span::from_secs(random.below(4));
            let ejection = EjectionBackoff { initial, max: Span::from_secs(6), decay_after: Span::from_secs(20) };
            spec.dwell = Some(DwellSettings { least: seconds(random, 6), ejection });
        }
        3 => {
            spec.dependencies = DEPENDENCIES.iter().filter_map(|name| dependency(name, random)).collect();
        }
        4 => {
            let kind = random.pick(&[RuleKind::Liveness, RuleKind::Readiness]);
            let attempts = 3 + random.below(LONGEST as u64 - 2) as u32;
            let window = FailureWindow { failures: 2 + random.below(2) as u32, attempts };
            if let Some(rule) = &mut spec.rules[kind] {
                rule.failure_window = (!random.one_in(3)).then_some(window);
                rule.failure_threshold = count(2 + random.below(3));
            }
        }
        _ => {
            let changes = [OnPolicyChange::Keep, OnPolicyChange::Prepare, OnPolicyChange::Rolling];
            spec.on_policy_change = random.pick(&changes);
            if let Some(rule) = &mut spec.rules.readiness {
                rule.question = Question(random.below(1_000_000));
            }
        }
    }
}

fn dependency(name: &str, random: &mut Random) -> Option<Dependency> {
    if random.one_in(3) {
        return None;
    }
    let rule = Rule {
        question: Question(random.below(2)),
        period: Span::from_secs(1) + seconds(random, 4),
        success_threshold: count(1 + random.below(2)),
        ..rule(1 + random.below(3))
    };
    Some(Dependency {
        name: DependencyName::new(name)?,
        rule,
        when_down: random.pick(&[WhenDown::HoldEjections, WhenDown::HoldAll]),
    })
}

/// A policy under which every gate of a replica in order opens.
pub fn calm(spec: &mut Policy) {
    spec.generation += 1;
    spec.paused_until = None;
    spec.heartbeat = spec.heartbeat.map(|_| Heartbeat { time_to_live: Span::from_secs(30) });
    spec.pool = Pool::ReadinessGate;
    spec.rules = PerRule { startup: Some(rule(4)), liveness: Some(rule(3)), readiness: Some(rule(1)) };
}

fn edit_rule(spec: &mut Policy, random: &mut Random) {
    let kind = random.pick(&RuleKind::ALL);
    let choice = random.below(12);
    let Some(rule) = spec.rules[kind].as_mut().filter(|_| choice > 0) else {
        let absent = spec.rules[kind].is_none();
        spec.rules[kind] = absent.then(|| rule(1 + random.below(4)));
        return;
    };
    match choice {
        1 => rule.question = Question(random.below(1_000_000)),
        2 => rule.period = Span::from_millis(200 + 400 * random.below(10)),
        3 => rule.timeout = Span::from_millis(200 + 400 * random.below(10)),
        4 => rule.startup_period = [None, Some(Span::from_millis(500))][random.below(2) as usize],
        5 => rule.fast_period = [None, Some(Span::from_millis(100 + random.below(400)))][random.below(2) as usize],
        6 => rule.initial_delay = seconds(random, 5),
        7 | 8 => rule.success_threshold = count(1 + random.below(3)),
        _ => rule.failure_threshold = count(1 + random.below(4)),
    }
}

fn rule(failures: u64) -> Rule {
    Rule {
        question: Question(1),
        period: Span::from_secs(1),
        timeout: Span::from_secs(1),
        startup_period: None,
        fast_period: None,
        initial_delay: Span::ZERO,
        failure_threshold: count(failures),
        failure_window: None,
        success_threshold: NonZeroU32::MIN,
    }
}

fn seconds(random: &mut Random, most: u64) -> Span {
    Span::from_millis(random.below(1_000 * most))
}

fn count(n: u64) -> NonZeroU32 {
    NonZeroU32::new(n as u32).unwrap_or(NonZeroU32::MIN)
}
