//! A breaker: while many replicas are suspect at once, restarts wait, and one trial decides whether they go on.

use super::super::{Among, BreakerSettings, FleetTransitionKind, Reason, SeatKey, Time};
use super::judged::Tally;
use super::seats::Seats;

/// Holds restarts while many replicas are suspect at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Breaker {
    /// It holds nothing.
    #[default]
    Closed,
    /// Restarts wait.
    Open {
        /// Since when fewer are suspect than open it.
        calm: Option<Time>,
        /// How far it is with trying whether restarts help.
        trial: Trial,
    },
}

/// How far an open breaker is with trying whether restarts help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// No restart is under way, and the next one is the trial.
    Waits {
        /// Since when: since it opened, or since the last restart that did not help.
        since: Time,
    },
    /// One restart is under way; all others wait for what comes of it.
    Runs {
        /// Whose.
        seat: SeatKey,
        /// Since when it had been waited for.
        since: Time,
    },
    /// It helped. Restarts go on, until one does not help.
    Helped,
}

impl Breaker {
    /// Opens or closes it by how the judged replicas among whom it is stand at `now`, and says so.
    pub(super) fn step(
        &mut self,
        settings: Option<&BreakerSettings>,
        among: Among,
        tally: Tally,
        now: Time,
    ) -> Option<(FleetTransitionKind, Reason)> {
        let opens = settings.is_some_and(|settings| settings.opens(tally.failing, tally.judged()));
        match (&mut *self, settings) {
            (Self::Closed, _) if opens => {
                *self = Self::Open { calm: None, trial: Trial::Waits { since: now } };
                let reason = Reason::Suspects { among, suspect: tally.failing, judged: tally.judged() };
                Some((FleetTransitionKind::BreakerOpened, reason))
            }
            (Self::Closed, _) => None,
            (Self::Open { .. }, None) => {
                *self = Self::Closed;
                Some((FleetTransitionKind::BreakerClosed, Reason::SwitchedOff))
            }
            (Self::Open { calm, .. }, Some(_)) if opens => {
                *calm = None;
                None
            }
            (Self::Open { calm, .. }, Some(BreakerSettings { cooldown, .. })) => {
                if *calm.get_or_insert(now) + *cooldown > now {
                    return None;
                }
                *self = Self::Closed;
                Some((FleetTransitionKind::BreakerClosed, Reason::Calm { span: *cooldown }))
            }
        }
    }

    /// Whether one more restart may be decided at `now`.
    pub(super) fn lets(&self, settings: Option<&BreakerSettings>, now: Time) -> bool {
        match self {
            Self::Closed | Self::Open { trial: Trial::Helped, .. } => true,
            Self::Open { trial: Trial::Runs { .. }, .. } => false,
            Self::Open { trial: Trial::Waits { since }, .. } => due(settings, *since).is_some_and(|due| due <= now),
        }
    }

    /// Whether a restart of that seat that was decided may still be ordered.
    pub(super) fn lets_go_on(&self, restarting: SeatKey) -> bool {
        match self {
            Self::Closed | Self::Open { trial: Trial::Helped, .. } => true,
            Self::Open { trial: Trial::Runs { seat, .. }, .. } => *seat == restarting,
            Self::Open { trial: Trial::Waits { .. }, .. } => false,
        }
    }

    /// A restart of that seat was decided. While it waits for a trial, that is the trial.
    pub(super) fn decided(&mut self, seat: SeatKey) {
        if let Self::Open { trial, .. } = self
            && let Trial::Waits { since } = *trial
        {
            *trial = Trial::Runs { seat, since };
        }
    }

    /// A restart of that seat helped.
    pub(super) fn helped(&mut self, restarted: SeatKey) {
        if let Self::Open { trial, .. } = self
            && matches!(trial, Trial::Runs { seat, .. } if *seat == restarted)
        {
            *trial = Trial::Helped;
        }
    }

    /// A restart of that seat did not help.
    pub(super) fn did_not_help(&mut self, restarted: SeatKey, now: Time) {
        let Self::Open { trial, .. } = self else { return };
        let counts = match trial {
            Trial::Waits { .. } => false,
            Trial::Runs { seat, .. } => *seat == restarted,
            Trial::Helped => true,
        };
        if counts {
            *trial = Trial::Waits { since: now };
        }
    }

    /// A trial whose restart is off, without anything having come of it, is to be made anew.
    pub(super) fn follow(&mut self, seats: &Seats) {
        if let Self::Open { trial, .. } = self
            && let Trial::Runs { seat, since } = *trial
            && seats.get(seat).is_none_or(|seat| seat.memory.intent.is_none())
        {
            *trial = Trial::Waits { since };
        }
    }

    /// How far it is with trying whether restarts help, if it is open.
    pub(in super::super) fn trial(&self) -> Option<Trial> {
        match self {
            Self::Closed => None,
            Self::Open { trial, .. } => Some(*trial),
        }
    }

    /// When it closes if nothing happens before.
    pub(super) fn closes(&self, settings: Option<&BreakerSettings>) -> Option<Time> {
        match self {
            Self::Closed => None,
            Self::Open { calm, .. } => Some((*calm)? + settings?.cooldown),
        }
    }

    /// When a trial may be made for which it still waits.
    pub(super) fn tries(&self, settings: Option<&BreakerSettings>) -> Option<Time> {
        match self {
            Self::Open { trial: Trial::Waits { since }, .. } => due(settings, *since),
            Self::Closed | Self::Open { trial: Trial::Runs { .. } | Trial::Helped, .. } => None,
        }
    }
}

fn due(settings: Option<&BreakerSettings>, since: Time) -> Option<Time> {
    Some(since + settings?.trial?)
}

#[cfg(test)]
mod tests {
    use super::super::super::{Amount, OwnerKey, Slot, Span};
    use super::*;

    const SETTINGS: BreakerSettings = BreakerSettings {
        open_at: Amount::Percent(50),
        min_judged: 2,
        cooldown: Span::from_secs(10),
        trial: Some(Span::from_secs(60)),
    };
    const SEAT: SeatKey = SeatKey { owner: OwnerKey(0), slot: Slot::Ordinal(3) };
    const OTHER: SeatKey = SeatKey { owner: OwnerKey(0), slot: Slot::Ordinal(4) };

    fn at(second: u64) -> Time {
        Time::ZERO + Span::from_secs(second)
    }

    fn step(breaker: &mut Breaker, second: u64, failing: u32) -> Option<FleetTransitionKind> {
        let told = breaker.step(Some(&SETTINGS), Among::Fleet, Tally { passing: 8 - failing, failing }, at(second));
        told.map(|(kind, _)| kind)
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::Closed;
        assert_eq!(step(&mut breaker, 0, 4), Some(FleetTransitionKind::BreakerOpened));
        breaker
    }

    #[test]
    fn it_closes_only_after_the_cooldown_without_a_break() {
        let mut breaker = opened();
        assert_eq!([step(&mut breaker, 5, 3), step(&mut breaker, 14, 4), step(&mut breaker, 20, 0)], [None; 3]);
        assert_eq!(breaker.closes(Some(&SETTINGS)), Some(at(30)));
        assert_eq!(step(&mut breaker, 29, 3), None);
        assert_eq!(step(&mut breaker, 30, 3), Some(FleetTransitionKind::BreakerClosed));
        assert_eq!(step(&mut breaker, 31, 3), None);
    }

    #[test]
    fn one_trial_is_let_through_and_what_comes_of_it_decides() {
        let mut breaker = opened();
        let lets = |breaker: &Breaker, second| breaker.lets(Some(&SETTINGS), at(second));
        assert_eq!((lets(&breaker, 59), lets(&breaker, 60)), (false, true));
        breaker.decided(SEAT);
        assert!(breaker.lets_go_on(SEAT) && !breaker.lets_go_on(OTHER) && !lets(&breaker, 99));
        breaker.did_not_help(OTHER, at(70));
        breaker.did_not_help(SEAT, at(80));
        assert_eq!((lets(&breaker, 139), lets(&breaker, 140)), (false, true));
        breaker.decided(OTHER);
        breaker.helped(OTHER);
        assert!(lets(&breaker, 150));
        breaker.decided(SEAT);
        breaker.did_not_help(SEAT, at(160));
        assert_eq!((lets(&breaker, 219), lets(&breaker, 220)), (false, true));
    }

    #[test]
    fn a_trial_that_is_called_off_is_made_anew_at_once() {
        let mut breaker = opened();
        breaker.decided(SEAT);
        breaker.follow(&Seats::default());
        assert!(breaker.lets(Some(&SETTINGS), at(60)));
    }

    #[test]
    fn without_a_trial_it_waits_for_calm() {
        let breaker = opened();
        assert!(!breaker.lets(Some(&BreakerSettings { trial: None, ..SETTINGS }), at(100_000)));
    }

    #[test]
    fn an_edit_that_switches_it_off_closes_it() {
        let mut breaker = opened();
        let told = breaker.step(None, Among::Fleet, Tally { passing: 0, failing: 8 }, at(1));
        assert_eq!(told, Some((FleetTransitionKind::BreakerClosed, Reason::SwitchedOff)));
    }
}
