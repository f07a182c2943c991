//! What a seed decides: how long a replica takes to start, and which faults hit it at random.
//!
//! Every draw is a function of the seed and of what it is drawn for, so that no draw depends on another, and a process
//! that plays one replica draws what the model draws for it.

use std::num::NonZeroU32;

use super::replica::{Faults, Hit, Leave};
use super::{Scenario, TrueState};

/// A fault that hits every replica at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chance {
    /// How many turns lie between two, on average.
    pub(super) every: NonZeroU32,
    /// What the replica is then.
    pub(super) state: TrueState,
    /// For how many turns, if it ends by itself.
    pub(super) turns: Option<u32>,
    /// How it goes, if it is stopped.
    pub(super) leave: Leave,
}

impl Scenario {
    /// The same scenario with what is random in it as this seed has it.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        for (index, replica) in (0u64..).zip(&mut self.replicas) {
            let turns = replica.joins.unwrap_or(0)..self.turns;
            let drawn = (0u64..).zip(&self.chances).flat_map(|(which, chance)| {
                let hits = move |turn: &u32| {
                    draw([seed, Purpose::Fault as u64, index, which, u64::from(*turn)], chance.every) == 0
                };
                turns.clone().filter(hits).map(|turn| chance.hit(turn))
            });
            replica.faults = replica.written.iter().copied().chain(drawn).collect::<Faults>();
        }
        self
    }

    /// Whether anything in it is left to the seed.
    pub fn is_random(&self) -> bool {
        self.startup_jitter > 0 || !self.chances.is_empty()
    }

    /// By how many turns a replica that is opened in a turn takes longer to start.
    pub(super) fn jitter(&self, replica: usize, turn: u64) -> u32 {
        match self.startup_jitter.checked_add(1).and_then(NonZeroU32::new) {
            None | Some(NonZeroU32::MIN) => 0,
            Some(choices) => draw([self.seed, Purpose::Startup as u64, replica as u64, 0, turn], choices),
        }
    }
}

impl Chance {
    fn hit(&self, turn: u32) -> Hit {
        let until = self.turns.map(|turns| turn.saturating_add(turns));
        Hit { state: self.state, from: turn, until, leave: self.leave }
    }
}

/// Keeps the draws for one thing apart from those for another.
#[derive(Clone, Copy)]
enum Purpose {
    Startup,
    Fault,
}

/// One of so many numbers from 0 on, each as likely as the other.
fn draw(key: [u64; 5], choices: NonZeroU32) -> u32 {
    let hash = key.into_iter().fold(0, |hash, part| mix(hash ^ part));
    // The high half of the product is below `choices` and needs no division.
    (((hash >> 32) * u64::from(choices.get())) >> 32) as u32
}

/// The finalizer of the generator SplitMix64: every bit of the input moves about half of those of the output.
fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}
