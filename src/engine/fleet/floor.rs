//! The floor of a pool: how few ready replicas it may have before failing ones count again, or nobody does.

use super::super::{FleetTransitionKind, FloorSettings, Obstacle, Reason, Time};

/// Whether a pool is below its floor, and has been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Floor {
    /// Enough are ready, or nobody who could be is not.
    #[default]
    Above,
    /// Too few are ready.
    Below {
        /// Since when enough are again.
        enough: Option<Time>,
    },
}

/// The replicas that have started and run, by what their own rules say of the pool. Starting and terminating ones are
/// not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stock {
    /// Their own rules let them in.
    pub(super) ready: u32,
    /// A rule that fails keeps them out.
    pub(super) failing: u32,
}

/// What a replica's own rules say of the pool, if it has started and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Stand {
    /// They let it in.
    Ready,
    /// One that fails keeps it out.
    Failing,
}

impl Stock {
    /// A replica stands otherwise than before.
    pub(super) fn change(&mut self, before: Option<Stand>, now: Option<Stand>) {
        if let Some(stand) = before {
            *self.of(stand) -= 1;
        }
        if let Some(stand) = now {
            *self.of(stand) += 1;
        }
    }

    fn of(&mut self, stand: Stand) -> &mut u32 {
        match stand {
            Stand::Ready => &mut self.ready,
            Stand::Failing => &mut self.failing,
        }
    }
}

impl Floor {
    /// What is said of it, if it is below.
    pub(super) fn below(self, settings: Option<&FloorSettings>, stock: Stock, desired: u32) -> Option<Obstacle> {
        let floor = settings?.min_ready.of(desired);
        let is_below = self != Self::Above || is_short(stock, floor);
        is_below.then_some(Obstacle::Floor { ready: stock.ready, floor })
    }

    /// Falls below the floor or comes back by how its replicas stand at `now`, and says so.
    pub(super) fn step(
        &mut self,
        settings: Option<&FloorSettings>,
        stock: Stock,
        desired: u32,
        now: Time,
    ) -> Option<(FleetTransitionKind, Reason)> {
        let short = settings.filter(|settings| is_short(stock, settings.min_ready.of(desired)));
        match (*self, short, settings) {
            (Self::Above, Some(FloorSettings { min_ready, .. }), _) => {
                *self = Self::Below { enough: None };
                let reason = Reason::BelowFloor { ready: stock.ready, floor: min_ready.of(desired) };
                Some((FleetTransitionKind::FellBelowFloor, reason))
            }
            (Self::Above, None, _) => None,
            (Self::Below { .. }, _, None) => {
                *self = Self::Above;
                Some((FleetTransitionKind::CameBackToFloor, Reason::SwitchedOff))
            }
            (Self::Below { .. }, Some(_), _) => {
                *self = Self::Below { enough: None };
                None
            }
            (Self::Below { enough }, None, Some(FloorSettings { cooldown, .. })) => {
                let since = enough.unwrap_or(now);
                if since + *cooldown > now {
                    *self = Self::Below { enough: Some(since) };
                    return None;
                }
                *self = Self::Above;
                Some((FleetTransitionKind::CameBackToFloor, Reason::Enough { span: *cooldown }))
            }
        }
    }

    /// When it is over if nothing happens before.
    pub(super) fn ends(self, settings: Option<&FloorSettings>) -> Option<Time> {
        match self {
            Self::Above => None,
            Self::Below { enough } => Some(enough? + settings?.cooldown),
        }
    }
}

/// Nobody fails while a fleet starts: then it is not short, it is not there yet.
fn is_short(stock: Stock, floor: u32) -> bool {
    stock.failing > 0 && stock.ready < floor
}
