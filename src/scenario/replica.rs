//! What happens to one replica, in whole turns counted from the first.

use super::Condition;
use super::TrueState;
use super::timeline::{Spell, Timeline};

/// What happens to one replica.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Replica {
    pub(super) startup: u32,
    pub(super) node: u32,
    pub(super) revision: u32,
    /// The turn in which it is opened, if it is not there from the beginning.
    pub(super) joins: Option<u32>,
    /// In the order of time.
    pub(super) reopenings: Vec<u32>,
    /// The faults that were written down, in any order.
    pub(super) written: Vec<Hit>,
    /// Those and the random ones.
    pub(super) faults: Faults,
}

/// A fault hits a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// What the replica is then; not [`TrueState::Healthy`].
    pub(super) state: TrueState,
    pub(super) from: u32,
    /// The first turn after it; none if it does not end by itself.
    pub(super) until: Option<u32>,
    /// How it goes, if it is stopped.
    pub(super) leave: Leave,
}

/// How a process goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leave {
    /// Without a word.
    Abrupt,
    /// It takes its entry out of the registry first.
    Graceful,
}

/// All faults of a replica.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// When the process gets stuck, in the order of time.
    pub(super) stuck: Vec<u32>,
    /// What comes and goes by itself.
    pub(super) spells: Timeline<Condition>,
    /// When the process is gone, in the order of time; they may overlap.
    pub(super) stops: Vec<(u32, Option<u32>, Leave)>,
}

impl FromIterator<Hit> for Faults {
    fn from_iter<I: IntoIterator<Item = Hit>>(hits: I) -> Self {
        let (mut stuck, mut spells, mut stops) = (Vec::new(), Vec::new(), Vec::new());
        for Hit { state, from, until, leave } in hits {
            if state == TrueState::Stuck {
                stuck.push(from);
                continue;
            }
            spells.push(Spell { what: Condition::from(state), from, until });
            if state == TrueState::Stopped {
                stops.push((from, until, leave));
            }
        }
        stuck.sort_unstable();
        stops.sort_unstable();
        Self { stuck, spells: Timeline::of(spells), stops }
    }
}
