//! What enforcing would have made of one replica so far, while its policy only observes.

use super::gate::GateKeeper;
use super::replica::Replica;
use super::stance::Stance;
use super::{Mode, Policy, Reason};

/// What enforcing would have made of a replica so far.
#[derive(Clone, Debug)]
pub(super) struct Foreseen {
    /// Where its gate would stand.
    pub(super) stance: Stance,
    /// The restart that its present failure asks for would have been ordered.
    pub(super) is_restarted: bool,
    /// An earlier engine kept it, and may have counted a failure that is under way.
    pub(super) is_inherited: bool,
}

impl Foreseen {
    /// Where the real gate stands, enforcing would go on from there.
    fn begin(gate: &GateKeeper) -> Self {
        let held = gate.held();
        let is_inherited = matches!(held, Some((_, Reason::Remembered)));
        let stance = Stance::found(held, held.map(|(gate, _)| gate));
        Self { stance, is_restarted: is_inherited, is_inherited }
    }

    /// The container is another one.
    pub(super) fn forget(&mut self) {
        self.stance.forget();
        (self.is_restarted, self.is_inherited) = (false, false);
    }
}

impl Replica {
    /// Begins to foresee, or ends, as the policy says.
    pub(super) fn foresee(&mut self, policy: Option<&Policy>) {
        match (policy.map(|policy| policy.mode), &self.foreseen) {
            (Some(Mode::Observe), None) => self.foreseen = Some(Box::new(Foreseen::begin(&self.gate))),
            (Some(Mode::Observe), Some(_)) | (Some(Mode::Enforce | Mode::Paused) | None, None) => {}
            (Some(Mode::Enforce | Mode::Paused) | None, Some(_)) => (self.foreseen, self.obstacle) = (None, None),
        }
    }

    /// Where decisions take its gate to stand: in Observe, where it would.
    pub(super) fn decided(&self) -> &Stance {
        match &self.foreseen {
            Some(foreseen) => &foreseen.stance,
            None => self.gate.stance(),
        }
    }

    /// Failures of its readiness rule in a row.
    pub(super) fn readiness_failures(&self) -> u32 {
        self.judges.readiness.as_ref().map_or(0, |judge| judge.fails)
    }

    /// A failure that a restart would have answered is over if no rule that restarts fails and one has passed.
    pub(super) fn note_recovery(&mut self) {
        let Some(foreseen) = self.foreseen.as_mut().filter(|foreseen| foreseen.is_restarted) else { return };
        let judges = [&self.judges.startup, &self.judges.liveness];
        let mut judges = judges.into_iter().flatten();
        foreseen.is_restarted = judges.clone().any(|judge| judge.is_suspect()) || !judges.any(|judge| judge.passes());
    }
}
