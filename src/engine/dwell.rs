//! How long a gate stays where what was heard of its replica has turned it.

use super::policy::doubled;
use super::{Gate, Span, Time};

/// How long a replica stays at least in the pool, or out of it, once its readiness rule has turned its gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DwellSettings {
    /// Either way; zero: for no time at least.
    pub least: Span,
    /// Out of it, by how often that has happened.
    pub ejection: EjectionBackoff,
}

/// How long a replica stays out of the pool after an ejection: `initial`, doubled with each further one up to `max`. One
/// ejection is forgotten for every `decay_after` in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EjectionBackoff {
    /// After the first ejection; zero switches it off.
    pub initial: Span,
    /// The longest time.
    pub max: Span,
    /// Above zero.
    pub decay_after: Span,
}

/// What a gate knows of how it was turned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dwell {
    turned: Option<(Time, Gate)>,
    /// Ejections that are not forgotten.
    ejections: u32,
}

impl Dwell {
    /// What was heard turns the gate.
    pub(super) fn turn(&mut self, gate: Gate, settings: &DwellSettings, now: Time) {
        if let Some((since, Gate::Open)) = self.turned {
            let forgotten = now.since(since).as_nanos() / settings.ejection.decay_after.as_nanos().max(1);
            self.ejections = self.ejections.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX));
        }
        match gate {
            Gate::Open => {}
            Gate::Closed => self.ejections = self.ejections.saturating_add(1),
        }
        self.turned = Some((now, gate));
    }

    /// Until when it stays where it is, and how long that is in all; `None` once that is over.
    pub(super) fn stays(&self, gate: Gate, settings: &DwellSettings, now: Time) -> Option<(Time, Span)> {
        let (since, _) = self.turned.filter(|(_, turned)| *turned == gate)?;
        let EjectionBackoff { initial, max, .. } = settings.ejection;
        let span = match gate {
            Gate::Open => settings.least,
            Gate::Closed => settings.least.max(doubled(initial, max, self.ejections)),
        };
        Some((since + span, span)).filter(|(until, _)| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: DwellSettings = DwellSettings {
        least: Span::from_secs(5),
        ejection: EjectionBackoff {
            initial: Span::from_secs(10),
            max: Span::from_secs(60),
            decay_after: Span::from_secs(100),
        },
    };

    #[test]
    fn an_ejection_lasts_longer_with_each_further_one_and_shorter_for_each_time_in_the_pool() {
        let mut dwell = Dwell::default();
        let mut now = Time::ZERO;
        let mut lasts = Vec::new();
        for in_pool in [0, 10, 10, 10, 10, 250, 10, 10_000] {
            dwell.turn(Gate::Open, &SETTINGS, now);
            now = now + Span::from_secs(in_pool);
            dwell.turn(Gate::Closed, &SETTINGS, now);
            let (until, span) = dwell.stays(Gate::Closed, &SETTINGS, now).unwrap();
            assert_eq!(until, now + span);
            lasts.push(span);
            now = until;
        }
        assert_eq!(lasts, [10, 20, 40, 60, 60, 60, 60, 10].map(Span::from_secs));
        assert_eq!(dwell.ejections, 1);
    }

    #[test]
    fn it_stays_where_it_was_turned_for_the_least_time_and_nowhere_else() {
        let mut dwell = Dwell::default();
        assert_eq!(dwell.stays(Gate::Open, &SETTINGS, Time::ZERO), None);
        dwell.turn(Gate::Open, &SETTINGS, Time::ZERO);
        let until = Time::ZERO + SETTINGS.least;
        assert_eq!(dwell.stays(Gate::Open, &SETTINGS, Time::ZERO), Some((until, SETTINGS.least)));
        assert_eq!(dwell.stays(Gate::Open, &SETTINGS, until), None);
        assert_eq!(dwell.stays(Gate::Closed, &SETTINGS, Time::ZERO), None);
    }
}
