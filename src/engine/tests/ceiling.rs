//! The ceiling on attempts.

use proptest::prelude::*;

use super::*;

const WARM_UP: Span = Span::from_secs(50);
const MEASURED: u64 = 100;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn attempts_stay_below_the_ceiling_and_use_what_it_leaves(
        replicas in 1u32..40,
        periods in (1u64..10, 1u64..10),
        per_second in 10u32..60,
    ) {
        let spec = Policy {
            rules: PerRule { startup: None, liveness: Some(rule(periods.0, 3)), readiness: Some(rule(periods.1, 1)) },
            phase: Phase::Spread,
            ..policy()
        };
        let ceiling = NonZeroU32::new(per_second).unwrap();
        let (free, _) = run(Engine::new(), &spec, replicas);
        let (capped, engine) = run(Engine::new().with_attempt_ceiling(ceiling), &spec, replicas);
        let (most, slack) = (u64::from(per_second) * MEASURED, u64::from(2 * replicas));
        prop_assert!(capped <= most + slack, "{} attempts, at most {}", capped, most);
        prop_assert!(10 * (capped + slack) >= 8 * free.min(most * 9 / 10), "{} attempts of {}", capped, free);
        if engine.stretched().is_none() {
            prop_assert_eq!(capped, free);
        }
    }
}

#[test]
fn periods_are_stretched_while_too_many_ask_and_no_longer() {
    let spec = Policy { rules: PerRule { liveness: Some(rule(1, 3)), ..PerRule::default() }, ..policy() };
    let mut bench = Bench::with(spec);
    bench.engine = std::mem::take(&mut bench.engine).with_attempt_ceiling(NonZeroU32::new(10).unwrap());
    (0..20).for_each(|replica| bench.add(replica));
    bench.settle();
    let stretched = bench.engine.stretched().unwrap();
    assert_eq!((stretched.ceiling, stretched.wanted, stretched.stretch.factor()), (10, 20, 2.25));
    (8..20).for_each(|replica| bench.tell(Input::ReplicaGone { replica: key(replica) }));
    bench.settle();
    assert_eq!((bench.engine.stretched(), bench.report().stretched), (None, None));
}

/// How many attempts there are once the fleet is warm.
fn run(engine: Engine, spec: &Policy, replicas: u32) -> (u64, Engine) {
    let mut bench = Bench::with(spec.clone());
    bench.engine = engine;
    bench.set(spec.clone());
    bench.tell(Input::Synced);
    (0..replicas).for_each(|replica| bench.add(replica));
    bench.advance(WARM_UP);
    let before = bench.attempts;
    bench.advance(Span::from_secs(MEASURED));
    (u64::from(bench.attempts - before), bench.engine)
}
