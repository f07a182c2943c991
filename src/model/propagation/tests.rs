//! What is simulated over all phases is what the closed form says, whatever the profile and the check.

use proptest::prelude::*;

use super::*;
use crate::api::ProbePolicySpec;
use crate::engine::{Phase, Time};

/// A check every so many milliseconds, with so many failures and successes in a row.
pub(super) fn check(period: u64, failures: u32, successes: u32) -> Check {
    let spec: ProbePolicySpec = serde_json::from_value(serde_json::json!({
        "selector": {"matchLabels": {"app": "fake"}},
        "readiness": {
            "tcpSocket": {"port": 8080},
            "period": format!("{}s{}ms", period / 1_000, period % 1_000),
            "failureThreshold": failures,
            "successThreshold": successes,
        },
    }))
    .unwrap();
    let policy = spec.parse(1, Phase::Spread).unwrap().policy;
    Check::from(policy.rules.readiness.as_ref().unwrap())
}

fn secs(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}

fn added(profile: Profile, to: Move) -> Option<(f64, f64)> {
    let delay = simulated::delays(check(10_000, 3, 1), profile, to).from_decision?;
    Some((delay.worst.as_secs_f64(), delay.mean.as_secs_f64()))
}

#[test]
fn the_published_profiles_add_what_is_published() {
    for to in Move::BOTH {
        assert_eq!(added(Profile::L7, to), Some((2.5, 1.25)));
        assert_eq!(added(Profile::NONE, to), None);
    }
    assert_eq!(added(Profile::L4, Move::Eject), Some((9.0, 6.5)));
    assert_eq!(added(Profile::L4, Move::Admit), Some((5.0, 2.5)));
}

#[test]
fn devices_whose_phases_are_spread_differ_less_than_they_may() {
    let check = check(2_000, 3, 1);
    let spread = |devices| simulated::disagreement_of_spread(check, Profile::L7, Move::Eject, devices);
    assert_eq!(spread(1), Some(Span::ZERO));
    assert!(spread(3) > spread(1) && spread(3) < simulated::disagreement(check, Profile::L7, Move::Eject));
    assert_eq!(simulated::disagreement_of_spread(check, Profile::NONE, Move::Eject, 3), None);
}

#[test]
fn a_changed_profile_empties_the_pool_until_the_first_replica_has_passed() {
    let fleet = simulated::preparing_fleet(check(3_000, 3, 2), Profile::L7, 3);
    assert_eq!(fleet, [4.0, 6.5, 4.0].map(secs));
}

#[test]
fn open_connections_outlive_the_ejection_by_as_long_as_they_last() {
    let connections = Connections { per_second: 10.try_into().unwrap(), last: secs(30.0) };
    let ejected = Time::ZERO + secs(50.0);
    let pool = Timeline::new(Pool::In).then(ejected, Pool::Out);
    let left = Leftover { ejected, open: 300, last_ends: ejected + secs(30.0) };
    assert_eq!(connections.left_by(&pool), Some(left));
    assert_eq!(connections.left_by(&pool.then(ejected + secs(1.0), Pool::In)), None);
}

fn some_check() -> impl Strategy<Value = Check> {
    (1u64..20, 1u32..5, 1u32..5).prop_map(|(period, failures, successes)| check(period * 500, failures, successes))
}

fn some_profile() -> impl Strategy<Value = Profile> {
    let reads = (1u64..20, 0u64..30).prop_map(|(every, again)| {
        Profile::Read(Reads::new(Span::from_millis(every * 500), Span::from_millis(again * 100)).unwrap())
    });
    prop_oneof![9 => reads, 1 => Just(Profile::Never)]
}

#[test]
fn the_last_open_connection_ends_as_long_after_the_latest_ejection_as_connections_last() {
    let connections = Connections { per_second: 4.try_into().unwrap(), last: secs(60.0) };
    let left = |profile| simulated::latest_leftover(check(2_000, 3, 1), profile, connections);
    let ejected = Time::ZERO + secs(6.0 + 9.0);
    assert_eq!(left(Profile::L4), Some(Leftover { ejected, open: 4 * 60, last_ends: ejected + secs(60.0) }));
    assert_eq!(left(Profile::NONE), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn over_all_phases_worst_and_mean_are_those_of_the_closed_form(
        check in some_check(),
        profile in some_profile(),
        to in prop::sample::select(Move::BOTH.to_vec()),
    ) {
        prop_assert_eq!(simulated::delays(check, profile, to), closed_form::delays(check, profile, to));
        prop_assert_eq!(simulated::preparing(check, profile), closed_form::preparing(check, profile));
        prop_assert_eq!(simulated::disagreement(check, profile, to), closed_form::disagreement(check, profile));
    }

    #[test]
    fn no_phase_takes_longer_than_the_worst(
        check in some_check(),
        profile in some_profile(),
        to in prop::sample::select(Move::BOTH.to_vec()),
        devices in 2u32..6,
    ) {
        let spread = simulated::disagreement_of_spread(check, profile, to, devices);
        prop_assert!(spread <= closed_form::disagreement(check, profile));
        prop_assert_eq!(spread.is_some(), closed_form::disagreement(check, profile).is_some());
        let fleet = simulated::preparing_fleet(check, profile, devices);
        let worst = closed_form::preparing(check, profile).map(|delay| delay.worst);
        prop_assert!(fleet.iter().all(|out| Some(*out) <= worst));
    }
}
