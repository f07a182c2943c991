//! Where a gate was decided to stand, be it carried out or only foreseen.

use super::dwell::Dwell;
use super::{DwellSettings, Gate, Obstacle, Reason, Span, Time};

/// Where a gate was decided to stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stance {
    /// What was decided for the present containers.
    held: Option<(Gate, Reason)>,
    /// How many failures in a row there were when last nobody was ejected for them, since they were shared.
    spared: u32,
    /// What was decided last, for whatever container.
    last: Option<Gate>,
    dwell: Dwell,
    /// When it may be turned from where it has to stay until then.
    stays_until: Option<Time>,
}

impl Stance {
    /// It stood so already; `held` if that was decided for the present containers.
    pub(super) fn found(held: Option<(Gate, Reason)>, last: Option<Gate>) -> Self {
        Self { held, last, ..Self::default() }
    }

    /// What was decided for the present containers.
    pub(super) fn held(&self) -> Option<(Gate, Reason)> {
        self.held
    }

    /// It was decided that it stands open.
    pub(super) fn is_open(&self) -> bool {
        self.held.is_some_and(|(gate, _)| gate == Gate::Open)
    }

    /// What spoke against an ejection still does until it is asked again: when a shared failure ends, not all are asked
    /// at the same instant.
    pub(super) fn spared(&self, streak: u32) -> Option<Obstacle> {
        match self.held {
            Some((Gate::Open, Reason::Held { by: by @ Obstacle::SharedFailure { .. }, .. }))
                if self.spared == streak =>
            {
                Some(by)
            }
            Some(_) | None => None,
        }
    }

    /// The container is another one: nothing is decided for it yet.
    pub(super) fn forget(&mut self) {
        (self.held, self.dwell) = (None, Dwell::default());
    }

    /// When it may be turned from where it has to stay until then.
    pub(super) fn stays_until(&self) -> Option<Time> {
        self.stays_until
    }

    /// Until when what turned it keeps it there, and how long that is in all; `None` once that is over.
    pub(super) fn stays(&self, gate: Gate, settings: &DwellSettings, now: Time) -> Option<(Time, Span)> {
        self.dwell.stays(gate, settings, now)
    }

    /// Notes that what was heard turns it, or until when that has to wait, before that decision is taken.
    pub(super) fn dwell(&mut self, settings: Option<&DwellSettings>, decided: Option<(Gate, Reason)>, now: Time) {
        self.stays_until = None;
        let Some((settings, (gate, reason))) = settings.zip(decided) else { return };
        if reason.was_heard() && self.last != Some(gate) {
            self.dwell.turn(gate, settings, now);
        } else if matches!(reason, Reason::Dwells { .. } | Reason::Held { by: Obstacle::Dwell { .. }, .. }) {
            self.stays_until = self.stays(gate, settings, now).map(|(until, _)| until);
        }
    }

    /// Takes a decision, made after so many readiness failures in a row; says whether it moves the gate.
    pub(super) fn take(&mut self, gate: Gate, reason: Reason, failures: u32) -> bool {
        if let Reason::Held { by: Obstacle::SharedFailure { .. }, .. } = reason {
            self.spared = failures;
        }
        // A streak that goes on is no news: the reason stays the one of the decision.
        let is_alike = |why: Reason| why.name() == reason.name() && why.dependency() == reason.dependency();
        if self.held.is_none_or(|(held, why)| held != gate || !is_alike(why)) {
            self.held = Some((gate, reason));
        }
        // A new replica that stays outside has not been ejected from anything.
        let before = self.last.replace(gate).unwrap_or(Gate::Closed);
        before != gate
    }
}
