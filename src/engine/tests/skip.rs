//! Passing over attempts comes to the same as making them.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;

/// The unit of every time here.
const TICK: Span = Span::from_millis(100);
/// How long a restarted container takes to run again.
const RETURN: Span = Span::from_millis(700);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_skipped_stretch_leaves_the_engine_as_a_stepped_one_does(
        before in spec(),
        replicas in 1u32..6,
        course in prop::collection::vec((event(), 1u64..150), 1..25),
    ) {
        come_to_the_same(&before, replicas, course);
    }
}

/// Runs the course attempt by attempt and with skipping, and holds one against the other after each event.
fn come_to_the_same(before: &Policy, replicas: u32, course: Vec<(Event, u64)>) {
    let (mut stepped, mut skipping) = (World::new(before, replicas), World::new(before, replicas));
    for (event, ticks) in course {
        stepped.advance(&event, ticks, step);
        skipping.advance(&event, ticks, Engine::skip);
        assert_eq!(&stepped.bench.done, &skipping.bench.done);
        assert_eq!(u64::from(stepped.bench.attempts), u64::from(skipping.bench.attempts) + skipping.skipped);
        let (stepped, skipped) = (stepped.state(), skipping.state());
        let differs = stepped.split(", ").zip(skipped.split(", ")).find(|(stepped, skipped)| stepped != skipped);
        assert_eq!(differs, None);
    }
}

#[test]
fn nobody_is_forgiven_a_silence_for_which_it_would_have_been_ejected() {
    let (rule, heartbeat) = (rule(1, 1), Heartbeat { time_to_live: TICK * 36 });
    let rules = PerRule { readiness: Some(Rule { period: TICK * 3, timeout: TICK, ..rule }), ..PerRule::default() };
    let observed = Policy { mode: Mode::Observe, rules, heartbeat: Some(heartbeat), ..policy() };
    let fails = |replica| Event::Answer(replica, RuleKind::Readiness, OutcomeClass::NoResponse);
    let passes = Event::Answer(0, RuleKind::Readiness, OutcomeClass::Passed);
    let course = [(Event::Nothing, 6), (Event::Beat(0), 47), (Event::Deregister(0), 5), (fails(1), 14), (fails(0), 32)];
    come_to_the_same(&observed, 2, course.into_iter().chain([(passes, 6)]).collect());
}

#[test]
fn a_replica_whose_restart_is_over_is_not_counted_among_those_that_fail_to_start() {
    let startup = Rule { period: TICK * 4, timeout: TICK, initial_delay: TICK * 38, ..rule(1, 3) };
    let readiness = Rule { period: TICK, timeout: TICK, ..rule(1, 1) };
    let rules = PerRule { startup: Some(startup), liveness: None, readiness: Some(readiness) };
    let mut guarded = Policy { rules, phase: Phase::Aligned { origin: Time::ZERO + TICK * 25 }, ..policy() };
    guarded.restart.deadline = Span::from_secs(10);
    guarded.fleet.breaker =
        Some(BreakerSettings { open_at: Amount::Percent(100), min_judged: 2, cooldown: TICK, trial: None });
    let fails = Event::Answer(1, RuleKind::Startup, OutcomeClass::NoResponse);
    come_to_the_same(&guarded, 3, vec![(fails, 70), (Event::Pause(1, 80), 1), (Event::Pause(1, 90), 80)]);
}

#[test]
fn a_settled_fleet_is_skipped_as_a_whole() {
    let mut world = World::new(&policy(), 3);
    world.advance(&Event::Nothing, 19, step);
    let stepped = world.bench.attempts;
    world.advance(&Event::Nothing, 1_000, Engine::skip);
    assert_eq!((world.bench.attempts, world.skipped), (stepped, 3 * 2 * 100));
}

#[test]
fn a_failing_replica_is_skipped_up_to_its_threshold() {
    let mut world = World::new(&policy(), 1);
    world.advance(&Event::Nothing, 20, step);
    let stepped = world.bench.attempts;
    world.advance(&Event::Answer(0, RuleKind::Liveness, OutcomeClass::NoResponse), 25, Engine::skip);
    let made = world.bench.attempts - stepped;
    assert_eq!(
        (made, world.bench.restarts().len()),
        (4, 1),
        "the first and the third failure, and readiness with them"
    );
}

#[test]
fn nothing_is_skipped_while_inputs_wait_for_a_poll() {
    let mut world = World::new(&policy(), 1);
    world.advance(&Event::Nothing, 20, step);
    world.bench.tell(Input::NodeSeen { node: NodeKey(0), state: NodeState::Ready });
    let passed = world.answers(0);
    assert_eq!(world.bench.engine.skip(key(0), world.bench.now + TICK * 1_000, passed), PerRule::default());
}

/// Skips nothing.
fn step(_: &mut Engine, _: ReplicaKey, _: Time, _: PerRule<OutcomeClass>) -> PerRule<u64> {
    PerRule::default()
}

/// A bench whose restarted containers come back after a while.
struct World {
    bench: Bench,
    replicas: u32,
    returns: BTreeMap<u32, Time>,
    told: usize,
    skipped: u64,
}

#[derive(Clone, Debug)]
enum Event {
    Nothing,
    Answer(u32, RuleKind, OutcomeClass),
    Beat(u32),
    Deregister(u32),
    Replace(u32),
    /// Until so many ticks from then.
    Pause(u32, u64),
    Dependencies(OutcomeClass),
    Edit(Box<Policy>),
}

impl World {
    fn new(policy: &Policy, replicas: u32) -> Self {
        let mut bench = Bench::with(policy.clone());
        bench.tell(Input::OwnerSeen {
            owner: OWNER,
            seen: Owner { kind: OwnerKind::Recreates, desired: replicas, first: 0 },
        });
        for replica in 0..replicas {
            bench.add_as(replica, |seen| {
                (seen.node, seen.revision) = (Some(NodeKey(replica / 2)), Some(RevisionKey(replica % 2)));
            });
        }
        Self { bench, replicas, returns: BTreeMap::new(), told: 0, skipped: 0 }
    }

    /// Lets something happen, and then so much time pass. `skip` is asked wherever there is time to pass over.
    fn advance(
        &mut self,
        event: &Event,
        ticks: u64,
        skip: impl Fn(&mut Engine, ReplicaKey, Time, PerRule<OutcomeClass>) -> PerRule<u64>,
    ) {
        match event {
            Event::Nothing => {}
            Event::Answer(replica, rule, class) => {
                self.bench.answers.insert((replica % self.replicas, *rule), *class);
            }
            Event::Beat(replica) => self.bench.tell(Input::Beat { replica: key(replica % self.replicas) }),
            Event::Deregister(replica) => {
                self.bench.tell(Input::Deregistered { replica: key(replica % self.replicas) });
            }
            Event::Replace(replica) => self.bench.replace_container(replica % self.replicas),
            Event::Pause(replica, ticks) => {
                let until = self.bench.now + TICK * *ticks;
                self.bench.show(replica % self.replicas, |seen| seen.paused_until = Some(until));
            }
            Event::Dependencies(class) => self.bench.dependency = Some(*class),
            Event::Edit(policy) => self.bench.set((**policy).clone()),
        }
        let end = self.bench.now + TICK * ticks;
        while self.bench.now < end {
            self.bench.settle();
            self.note_restarts();
            let until = self.returns.values().copied().fold(end, Time::min);
            for replica in 0..self.replicas {
                let answers = self.answers(replica);
                let PerRule { startup, liveness, readiness } =
                    skip(&mut self.bench.engine, key(replica), until, answers);
                self.skipped += startup + liveness + readiness;
            }
            let next = self.bench.engine.next_deadline().map_or(until, |(at, _)| at);
            self.bench.now = next.min(until);
            self.let_return();
        }
    }

    fn note_restarts(&mut self) {
        for (at, effect) in &self.bench.done[self.told..] {
            if let Effect::Restart { replica, .. } = effect {
                self.returns.insert(replica.index, *at + RETURN);
            }
        }
        self.told = self.bench.done.len();
    }

    fn let_return(&mut self) {
        let now = self.bench.now;
        for (replica, _) in self.returns.extract_if(.., |_, at| *at <= now).collect::<Vec<_>>() {
            self.bench.replace_container(replica);
        }
    }

    fn answers(&self, replica: u32) -> PerRule<OutcomeClass> {
        let answer = |rule| self.bench.answers.get(&(replica, rule)).copied().unwrap_or(OutcomeClass::Passed);
        PerRule {
            startup: answer(RuleKind::Startup),
            liveness: answer(RuleKind::Liveness),
            readiness: answer(RuleKind::Readiness),
        }
    }

    fn state(&self) -> String {
        let Engine { replicas, fleets, .. } = &self.bench.engine;
        format!("{:?}, {fleets:?}, {replicas:?}", self.bench.engine.next_deadline())
    }
}

fn event() -> impl Strategy<Value = Event> {
    let rule = || prop::sample::select(RuleKind::ALL.to_vec());
    let class = || {
        prop_oneof![
            4 => Just(OutcomeClass::Passed),
            3 => Just(OutcomeClass::NoResponse),
            3 => Just(OutcomeClass::ConnectTimeout),
            1 => Just(OutcomeClass::ProberError),
        ]
    };
    prop_oneof![
        6 => (0u32..6, rule(), class()).prop_map(|(replica, rule, class)| Event::Answer(replica, rule, class)),
        2 => (0u32..4).prop_map(Event::Beat),
        1 => (0u32..4).prop_map(Event::Deregister),
        1 => (0u32..6).prop_map(Event::Replace),
        1 => (0u32..4, 0u64..200).prop_map(|(replica, ticks)| Event::Pause(replica, ticks)),
        2 => class().prop_map(Event::Dependencies),
        2 => spec().prop_map(|spec| Event::Edit(Box::new(spec))),
        1 => Just(Event::Nothing),
    ]
}

fn spec() -> impl Strategy<Value = Policy> {
    let asked = || {
        let quicker = || prop::option::of((1u64..20).prop_map(|period| TICK * period));
        let window =
            (1u32..6, 0u32..6).prop_map(|(failures, passes)| FailureWindow { failures, attempts: failures + passes });
        let thresholds = (1u32..5, 1u32..4, prop::option::of(window));
        (1u64..30, 1u64..20, 0u64..40, thresholds, 0u64..2, quicker(), quicker()).prop_map(
            |(period, timeout, delay, thresholds, question, startup_period, fast_period)| Rule {
                question: Question(question),
                period: TICK * period,
                timeout: TICK * timeout,
                startup_period,
                fast_period,
                initial_delay: TICK * delay,
                failure_threshold: NonZeroU32::new(thresholds.0).unwrap(),
                success_threshold: NonZeroU32::new(thresholds.1).unwrap(),
                failure_window: thresholds.2,
            },
        )
    };
    let when_down = prop_oneof![Just(WhenDown::HoldEjections), Just(WhenDown::HoldAll)];
    let dependency = (asked(), when_down).prop_map(|(rule, when_down)| {
        let rule = Rule { startup_period: None, fast_period: None, failure_window: None, ..rule };
        Dependency { name: DependencyName::new("store").unwrap(), rule, when_down }
    });
    let dependencies = prop::option::weighted(0.3, dependency);
    let rules = (prop::option::of(asked()), prop::option::weighted(0.9, asked()), prop::option::weighted(0.9, asked()));
    let phase =
        prop_oneof![Just(Phase::Spread), (0u64..50).prop_map(|at| Phase::Aligned { origin: Time::ZERO + TICK * at })];
    let mode = prop_oneof![8 => Just(Mode::Enforce), 3 => Just(Mode::Observe), 1 => Just(Mode::Paused)];
    let pool = prop_oneof![3 => Just(Pool::ReadinessGate), 1 => Just(Pool::EndpointSlice), 1 => Just(Pool::None)];
    let budget = (1u32..4, 10u64..600)
        .prop_map(|(restarts, per)| BudgetSettings { restarts: NonZeroU32::new(restarts).unwrap(), per: TICK * per });
    let restart = (0u64..100, 1u32..4, 20u64..200, 0u32..4, prop::option::weighted(0.3, budget));
    let restart = restart.prop_map(|(backoff, at_once, deadline, give_up_after, budget)| RestartSettings {
        budget,
        max_concurrent: Amount::Count(at_once),
        backoff: Backoff { initial: TICK * backoff, max: TICK * 200, reset_after: TICK * 400 },
        deadline: TICK * deadline,
        give_up_after: NonZeroU32::new(give_up_after),
        ..policy().restart
    });
    let min_ready = prop_oneof![(1u32..=100).prop_map(Amount::Percent), (1u32..5).prop_map(Amount::Count)];
    let when_below = prop::sample::select(vec![WhenBelow::Hold, WhenBelow::Open, WhenBelow::Close]);
    let floor = (min_ready, when_below, 1u64..100).prop_map(|(min_ready, when_below, cooldown)| FloorSettings {
        min_ready,
        when_below,
        cooldown: TICK * cooldown,
    });
    let change = prop::sample::select(vec![OnPolicyChange::Keep, OnPolicyChange::Prepare, OnPolicyChange::Rolling]);
    let dwell = (0u64..50, 0u64..50, 1u64..100).prop_map(|(least, initial, decay_after)| DwellSettings {
        least: TICK * least,
        ejection: EjectionBackoff { initial: TICK * initial, max: TICK * 200, decay_after: TICK * decay_after },
    });
    let pool = (pool, prop::option::of(floor), change, prop::option::of(dwell));
    let heartbeat = (10u64..200).prop_map(|ticks| Heartbeat { time_to_live: TICK * ticks });
    let heartbeat = prop::option::weighted(0.3, heartbeat);
    let shared = prop_oneof![Just(SharedFailure::Hold), Just(SharedFailure::Ignore)];
    let open_at = prop_oneof![(1u32..=100).prop_map(Amount::Percent), (2u32..4).prop_map(Amount::Count)];
    let breaker = (open_at, 2u32..4, 1u64..100, prop::option::of(1u64..100)).prop_map(
        |(open_at, min_judged, cooldown, trial)| BreakerSettings {
            open_at,
            min_judged,
            cooldown: TICK * cooldown,
            trial: trial.map(|trial| TICK * trial),
        },
    );
    let fleet = (prop::option::weighted(0.7, breaker), shared)
        .prop_map(|(breaker, shared_failure)| FleetSettings { breaker, shared_failure });
    let paused = prop::option::weighted(0.1, (0u64..1_000).prop_map(|at| Time::ZERO + TICK * at));
    (rules, heartbeat, phase, mode, paused, pool, restart, (fleet, dependencies)).prop_map(
        |(
            (startup, liveness, readiness),
            heartbeat,
            phase,
            mode,
            paused_until,
            (pool, floor, on_policy_change, dwell),
            restart,
            (fleet, dependency),
        )| {
            Policy {
                rules: PerRule { startup, liveness, readiness },
                heartbeat,
                fleet,
                dependencies: dependency.into_iter().collect(),
                phase,
                mode,
                paused_until,
                pool,
                floor,
                on_policy_change,
                dwell,
                restart,
                ..policy()
            }
        },
    )
}
