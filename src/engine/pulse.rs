//! Beats: a replica says by itself that it is there, and its silence speaks against it.

use super::{Evidence, Incarnation, Span, Time};

/// What the heartbeat rule holds of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pulse {
    /// The container it is about.
    pub(super) container: Incarnation,
    pub(super) time_to_live: Span,
    presence: Presence,
    /// Its latest beat; none since it deregistered.
    last: Option<Time>,
    /// Since when it is expected to beat; `None` while its silence says nothing.
    expected: Option<Time>,
    /// Beats until then may not have reached us.
    deaf_until: Time,
    /// From the beat before the latest one to the latest one.
    gap: Option<Span>,
    /// The shorter of the latest two gaps: one beat that was lost does not make beats rare.
    interval: Option<Span>,
}

/// Whether a replica says that it is there. The status uses the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// Its container has not beaten yet.
    Awaited,
    /// It has, less than half a time to live ago.
    Present,
    /// No beat came for half a time to live: one that should have come did not.
    Late,
    /// No beat came for a whole one.
    Missing,
    /// It has said that it goes, and has not beaten since.
    Deregistered,
}

/// Whether a beat, or a silence, changed what is held of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    No,
    Yes,
}

impl Pulse {
    /// A container that has not beaten yet.
    pub(super) fn new(container: Incarnation, time_to_live: Span) -> Self {
        Self {
            container,
            time_to_live,
            presence: Presence::Awaited,
            last: None,
            expected: None,
            deaf_until: Time::ZERO,
            gap: None,
            interval: None,
        }
    }

    /// A beat.
    pub(super) fn beat(&mut self, now: Time) -> Turned {
        let gap = self.last.map(|last| now.since(last));
        self.interval = gap.zip(self.gap).map(|(gap, before)| gap.min(before));
        (self.gap, self.last) = (gap, Some(now));
        self.turn(Presence::Present)
    }

    /// It says that it goes.
    pub(super) fn deregister(&mut self) -> Turned {
        (self.last, self.gap, self.interval) = (None, None, None);
        self.turn(Presence::Deregistered)
    }

    /// Beats are to be expected since then, or not at all, and those until `deaf_until` may not have reached us.
    pub(super) fn expect(&mut self, since: Option<Time>, deaf_until: Time) {
        self.expected = since.map(|since| self.expected.unwrap_or(since));
        self.deaf_until = deaf_until;
    }

    /// Its silence counts from now on only, if it counts at all.
    pub(super) fn await_anew(&mut self, now: Time) {
        self.expected = self.expected.map(|_| now);
        if self.presence == Presence::Missing {
            self.presence = Presence::Late;
        }
    }

    /// What its silence has come to.
    pub(super) fn conclude(&mut self, now: Time) -> Turned {
        let mut turned = Turned::No;
        while let Some((_, presence)) = self.next().filter(|(at, _)| *at <= now) {
            turned = self.turn(presence);
        }
        turned
    }

    /// When its silence comes to something else.
    pub(super) fn turns(&self) -> Option<Time> {
        self.next().map(|(at, _)| at)
    }

    pub(super) fn presence(&self) -> Presence {
        self.presence
    }

    /// This container has beaten, and has not deregistered since.
    pub(super) fn has_beaten(&self) -> bool {
        self.last.is_some()
    }

    /// How it counts where replicas are compared.
    pub(super) fn evidence(&self) -> Option<Evidence> {
        match self.presence {
            Presence::Present => Some(Evidence::Pass),
            Presence::Late | Presence::Missing => Some(Evidence::Fail),
            Presence::Awaited | Presence::Deregistered => None,
        }
    }

    /// From one beat to the next, if that leaves less than two beats in a time to live.
    pub(super) fn rare(&self) -> Option<Span> {
        self.interval.filter(|interval| *interval * 2 > self.time_to_live)
    }

    /// Silence counts from the latest beat, but never from before we could expect and hear one.
    fn next(&self) -> Option<(Time, Presence)> {
        let from = self.expected?.max(self.deaf_until).max(self.last.unwrap_or_default());
        match self.presence {
            Presence::Awaited | Presence::Present => {
                Some((from + Span::from_nanos(self.time_to_live.as_nanos() / 2), Presence::Late))
            }
            Presence::Late => Some((from + self.time_to_live, Presence::Missing)),
            Presence::Missing | Presence::Deregistered => None,
        }
    }

    fn turn(&mut self, presence: Presence) -> Turned {
        if std::mem::replace(&mut self.presence, presence) == presence { Turned::No } else { Turned::Yes }
    }
}

impl Presence {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Awaited => "awaited",
            Self::Present => "present",
            Self::Late => "late",
            Self::Missing => "missing",
            Self::Deregistered => "deregistered",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn beating_at(beats: &[u64]) -> Pulse {
        let mut pulse = Pulse::new(Incarnation(1), Span::from_secs(3));
        pulse.expect(Some(Time::ZERO), Time::ZERO);
        for beat in beats {
            pulse.beat(at(*beat));
        }
        pulse
    }

    fn presence(mut pulse: Pulse, now: Time) -> Presence {
        pulse.conclude(now);
        pulse.presence()
    }

    #[test]
    fn a_replica_is_there_for_less_than_the_time_to_live_after_its_last_beat() {
        let pulse = beating_at(&[0, 500]);
        let seen = [1_999, 2_000, 3_499, 3_500].map(|now| presence(pulse, at(now)));
        assert_eq!(seen, [Presence::Present, Presence::Late, Presence::Late, Presence::Missing]);
    }

    #[test]
    fn what_was_not_heard_while_we_were_deaf_speaks_against_nobody() {
        let mut pulse = beating_at(&[0]);
        pulse.expect(Some(at(0)), at(10_000));
        assert_eq!(presence(pulse, at(12_999)), Presence::Late);
        assert_eq!(presence(pulse, at(13_000)), Presence::Missing);
    }

    #[test]
    fn a_missing_replica_stays_missing_until_it_beats_whatever_we_could_not_hear_since() {
        let mut pulse = beating_at(&[0]);
        pulse.conclude(at(3_000));
        pulse.expect(Some(at(0)), at(10_000));
        assert_eq!(presence(pulse, at(10_001)), Presence::Missing);
        assert_eq!((pulse.beat(at(10_002)), pulse.presence()), (Turned::Yes, Presence::Present));
    }

    #[test]
    fn beats_are_rare_if_two_do_not_fit_into_a_time_to_live_and_one_that_was_lost_makes_them_not() {
        let rare = |beats: &[u64]| beating_at(beats).rare();
        assert_eq!(rare(&[0, 2_000, 4_000]), Some(Span::from_secs(2)));
        assert_eq!(rare(&[0, 1_500, 3_000]), None);
        assert_eq!(rare(&[0, 1_000, 2_000, 4_000]), None);
        assert_eq!(rare(&[0, 2_000]), None);
    }
}
