//! A device with phases of its own, run through what happens to a replica.

use super::{Check, Edge, Forwarder, Move, Profile, Timeline};
use crate::engine::{Span, Time};

/// A device that checks a replica and sends it traffic by its own results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// How it decides.
    pub check: Check,
    /// How that reaches its traffic.
    pub profile: Profile,
    /// When it checks and reads.
    pub phases: Phases,
    /// What a check and a read see of that which happens at their very instant.
    pub edge: Edge,
}

/// From the beginning to the first check and to the first read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// The first check.
    pub check: Span,
    /// The first read.
    pub reads: Span,
}

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It passes.
    Good,
    /// It fails.
    Bad,
}

/// What the device has decided, which is what a screen shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not enough failures in a row.
    Passing,
    /// Enough of them, and not enough successes since.
    Failing,
    /// Its profile is new or was changed, and it has not passed the required successes yet.
    Preparing,
}

/// Where the traffic goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// New connections come to the replica.
    In,
    /// New connections avoid it. Open ones last until they end by themselves.
    Out,
}

impl Health {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }
}

impl Standing {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passing => "passing",
            Self::Failing => "failing",
            Self::Preparing => "preparing",
        }
    }
}

impl Pool {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }
}

impl Device {
    /// What the device decides of a replica, up to `until`. At each time of `assigned`, in their order, its profile is
    /// assigned or changed.
    pub fn judge(
        &self,
        first: Standing,
        health: &Timeline<Health>,
        assigned: &[Time],
        until: Time,
    ) -> Timeline<Standing> {
        let mut standing = Timeline::new(first);
        let mut assigned = assigned.iter().copied().filter(|at| *at <= until).peekable();
        let mut streak = 0;
        for now in instants(self.phases.check, self.check.period(), until) {
            while let Some(at) = assigned.next_if(|at| self.edge.sees(*at, now)) {
                standing.set(at, Standing::Preparing);
                streak = 0;
            }
            let (to, decided) = match (standing.latest(), health.at(now, self.edge)) {
                (Standing::Passing, Health::Bad) => (Move::Eject, Standing::Failing),
                (Standing::Failing | Standing::Preparing, Health::Good) => (Move::Admit, Standing::Passing),
                (Standing::Passing, Health::Good) | (Standing::Failing | Standing::Preparing, Health::Bad) => {
                    streak = 0;
                    continue;
                }
            };
            streak += 1;
            if streak == self.check.needed(to) {
                standing.set(now, decided);
                streak = 0;
            }
        }
        assigned.for_each(|at| standing.set(at, Standing::Preparing));
        standing
    }

    /// Where the device's traffic goes, up to `until`. A profile that was assigned or changed takes effect at once;
    /// everything else when it is read.
    pub fn forward(&self, first: Pool, standing: &Timeline<Standing>, until: Time) -> Timeline<Pool> {
        let mut pool = Timeline::new(first);
        let mut forwarder = Forwarder::new(self.profile, Time::ZERO + self.phases.reads, first);
        let preparing = standing.transitions().iter().filter(|(_, state)| *state == Standing::Preparing);
        let mut preparing = preparing.map(|(at, _)| *at).take_while(|at| *at <= until).peekable();
        loop {
            let read = forwarder.next_read().filter(|now| *now <= until);
            if let Some(at) = preparing.next_if(|at| read.is_none_or(|now| self.edge.sees(*at, now))) {
                forwarder.prepare();
                pool.set(at, forwarder.pool());
            } else if let Some(now) = read {
                forwarder.read(standing.at(now, self.edge));
                pool.set(now, forwarder.pool());
            } else {
                return pool;
            }
        }
    }
}

/// `first` after the beginning, and then every `period`, up to `until`.
fn instants(first: Span, period: Span, until: Time) -> impl Iterator<Item = Time> {
    (0u64..).map(move |n| Time::ZERO + first + period * n).take_while(move |now| *now <= until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::propagation::tests::check;

    fn t(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    const END: Time = Time::from_nanos(100_000_000_000);

    /// Checks every 2 s from 1 s on, 3 failures, 2 successes; reads from `reads` on.
    fn device(profile: Profile, reads: u64) -> Device {
        let phases = Phases { check: Span::from_secs(1), reads: Span::from_millis(reads) };
        Device { check: check(2_000, 3, 2), profile, phases, edge: Edge::Caught }
    }

    fn bad_from_to(from: u64, to: u64) -> Timeline<Health> {
        Timeline::new(Health::Good).then(t(from), Health::Bad).then(t(to), Health::Good)
    }

    #[test]
    fn so_many_failures_in_a_row_eject_and_so_many_successes_admit() {
        let standing = device(Profile::L7, 0).judge(Standing::Passing, &bad_from_to(6_000, 20_000), &[], END);
        assert_eq!(standing.transitions(), [(t(11_000), Standing::Failing), (t(23_000), Standing::Passing)]);
    }

    #[test]
    fn a_success_in_between_makes_the_failures_begin_anew() {
        let health = bad_from_to(6_000, 10_000).then(t(12_000), Health::Bad);
        let standing = device(Profile::L7, 0).judge(Standing::Passing, &health, &[], END);
        assert_eq!(standing.transitions(), [(t(17_000), Standing::Failing)]);
    }

    #[test]
    fn a_device_that_reads_results_follows_at_its_next_read() {
        let device = device(Profile::L7, 500);
        let standing = device.judge(Standing::Passing, &bad_from_to(6_000, 20_000), &[], END);
        let pool = device.forward(Pool::In, &standing, END);
        assert_eq!(pool.transitions(), [(t(13_000), Pool::Out), (t(23_000), Pool::In)]);
    }

    #[test]
    fn a_worse_result_is_read_again_before_it_counts_and_a_better_one_counts_at_once() {
        let device = device(Profile::L4, 500);
        let standing = device.judge(Standing::Passing, &bad_from_to(6_000, 22_000), &[], END);
        let pool = device.forward(Pool::In, &standing, END);
        assert_eq!(pool.transitions(), [(t(19_500), Pool::Out), (t(25_500), Pool::In)]);
    }

    #[test]
    fn what_is_better_when_it_is_read_again_was_no_ejection() {
        let device = device(Profile::L4, 500);
        let standing = Timeline::new(Standing::Passing).then(t(5_200), Standing::Failing);
        let blip = standing.clone().then(t(9_400), Standing::Passing);
        assert_eq!(device.forward(Pool::In, &standing, END).transitions(), [(t(9_500), Pool::Out)]);
        assert!(device.forward(Pool::In, &blip, END).transitions().is_empty());
    }

    #[test]
    fn without_a_profile_that_reaches_it_the_traffic_follows_nothing() {
        let device = device(Profile::NONE, 0);
        let standing = device.judge(Standing::Passing, &bad_from_to(6_000, 20_000), &[t(1_000)], END);
        assert!(!standing.transitions().is_empty());
        assert!(device.forward(Pool::In, &standing, END).transitions().is_empty());
    }

    #[test]
    fn a_changed_profile_takes_the_replica_out_at_once_until_it_has_passed() {
        let device = device(Profile::L4, 0);
        let standing = device.judge(Standing::Passing, &Timeline::new(Health::Good), &[t(6_000)], END);
        assert_eq!(standing.transitions(), [(t(6_000), Standing::Preparing), (t(9_000), Standing::Passing)]);
        let pool = device.forward(Pool::In, &standing, END);
        assert_eq!(pool.transitions(), [(t(6_000), Pool::Out), (t(10_000), Pool::In)]);
    }

    #[test]
    fn a_preparing_replica_that_fails_goes_on_preparing() {
        let device = device(Profile::L7, 0);
        let standing = device.judge(Standing::Passing, &bad_from_to(8_000, 30_000), &[t(6_000)], END);
        assert_eq!(standing.transitions(), [(t(6_000), Standing::Preparing), (t(33_000), Standing::Passing)]);
    }

    #[test]
    fn what_happens_at_the_instant_of_a_check_and_a_read_is_caught_or_missed() {
        let mut device = device(Profile::L7, 1_000);
        let out = |device: Device| {
            let standing = device.judge(Standing::Passing, &bad_from_to(7_000, 99_000), &[], END);
            (standing.transitions()[0].0, device.forward(Pool::In, &standing, END).transitions()[0].0)
        };
        assert_eq!(out(device), (t(11_000), t(11_000)));
        device.edge = Edge::Missed;
        assert_eq!(out(device), (t(13_000), t(13_500)));
    }

    #[test]
    fn a_profile_changed_at_the_instant_of_a_read_that_misses_it_still_takes_effect_at_once() {
        let device = Device { edge: Edge::Missed, ..device(Profile::L7, 1_000) };
        let standing = Timeline::new(Standing::Passing).then(t(6_000), Standing::Preparing);
        assert_eq!(device.forward(Pool::In, &standing, END).transitions(), [(t(6_000), Pool::Out)]);
    }
}
