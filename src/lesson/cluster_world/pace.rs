//! A policy for a world that runs faster.

use crate::api::{Duration, ProbePolicySpec, RuleSpec};
use crate::scenario::Speed;

/// Divides every duration of a policy by the speed. What counts in seconds stays at least one.
pub fn at_speed(mut spec: ProbePolicySpec, speed: Speed) -> ProbePolicySpec {
    for rule in [&mut spec.startup, &mut spec.liveness, &mut spec.readiness].into_iter().flatten() {
        let RuleSpec { period, startup_period, fast_period, timeout, initial_delay, .. } = rule;
        for duration in [period, timeout, initial_delay].into_iter().chain(startup_period).chain(fast_period) {
            *duration = shorten(*duration, speed);
        }
    }
    let restart = &mut spec.restart;
    let (pool, ejection) = (&mut spec.pool.dwell, &mut spec.pool.ejection_backoff);
    for duration in
        [&mut restart.backoff.initial, &mut restart.backoff.max, pool, &mut ejection.initial, &mut ejection.max]
    {
        *duration = shorten(*duration, speed);
    }
    let per = restart.budget.as_mut().map(|budget| &mut budget.per);
    let seconds =
        [&mut restart.backoff.reset_after, &mut restart.grace_period, &mut restart.deadline, &mut ejection.decay_after];
    for duration in seconds.into_iter().chain(per) {
        *duration = shorten(*duration, speed).max(Duration::from_secs(1));
    }
    spec
}

fn shorten(duration: Duration, speed: Speed) -> Duration {
    Duration::from_millis(speed.shorten(duration.span()).as_nanos() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Phase;
    use crate::lesson::Setting;

    #[test]
    fn speed_divides_every_duration_of_a_policy() {
        let fast = at_speed(Setting::PlusStartup.policy().unwrap().spec, "2".parse().unwrap());
        let startup = fast.startup.as_ref().unwrap();
        assert_eq!(startup.period.to_string(), "2s500ms");
        assert_eq!(startup.timeout.to_string(), "500ms");
        assert_eq!(startup.failure_threshold, 6);
        assert_eq!(fast.liveness.as_ref().unwrap().period.to_string(), "2s500ms");
        assert_eq!(fast.readiness.as_ref().unwrap().period.to_string(), "1s");
        assert_eq!(fast.restart.grace_period.to_string(), "1s");
        assert_eq!(fast.restart.deadline.to_string(), "5m");
        assert!(fast.parse(1, Phase::Spread).is_ok());
    }

    #[test]
    fn at_a_speed_that_no_period_can_follow_the_policy_is_refused() {
        let too_fast = at_speed(Setting::PlusStartup.policy().unwrap().spec, "1000".parse().unwrap());
        assert_eq!(too_fast.parse(1, Phase::Spread).unwrap_err().path, "spec.startup.period");
    }
}
