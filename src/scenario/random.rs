//! What a seed decides: how long a replica takes to start, and which faults hit it at random.
//!
//! Every draw is a function of the seed and of what it is drawn for, so that no draw depends on another, and a process
//! that plays one replica draws what the model draws for it.

use std::num::NonZeroU32;

use super::replica::{Faults, Hit, Leave};
use super::{Scenario, TrueState};
use crate::engine::Time;

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

    /// By how many turns a replica that is opened at that time takes longer to start.
    pub(super) fn jitter(&self, replica: usize, opened: Time) -> u32 {
        if self.startup_jitter == 0 {
            return 0;
        }
        let (turn, choices) = (self.index_at(opened), NonZeroU32::MIN.saturating_add(self.startup_jitter));
        draw([self.seed, Purpose::Startup as u64, replica as u64, 0, turn], choices)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Span;
    use crate::scenario::{Condition, Opening, ScenarioFile};

    /// Four replicas, 20,000 turns of a second; the last replica joins at 10,000.
    fn scenario() -> Scenario {
        let text = "
            turn: 1s
            turns: 20000
            requestsPerTurn: 1
            replicas: {count: 4, startup: 2, joins: {3: 10000}}
            startupJitter: 3
            randomFaults: [{every: 50, silent: {for: 1}}, {every: 400, stuck: {}}]";
        ScenarioFile::parse("s.yaml", text).unwrap()
    }

    fn silent(scenario: &Scenario, replica: usize) -> Vec<u32> {
        let is_silent =
            |turn: &u32| scenario.condition(replica, Opening::Warm, scenario.begin_of(*turn)).is(TrueState::Silent);
        scenario.numbers().filter(is_silent).collect()
    }

    #[test]
    fn the_same_seed_says_the_same_and_another_one_something_else() {
        assert_eq!(scenario().seeded(7), scenario().seeded(1).seeded(7));
        assert_ne!(silent(&scenario().seeded(7), 0), silent(&scenario().seeded(8), 0));
        assert_ne!(silent(&scenario(), 0), silent(&scenario(), 1));
    }

    #[test]
    fn so_many_turns_lie_between_two_faults_on_average() {
        let scenario = scenario();
        for replica in 0..3 {
            let faults = silent(&scenario, replica).len();
            assert!((300..500).contains(&faults), "{faults} instead of about 400");
            let stuck = scenario.replicas[replica].faults.stuck.len();
            assert!((25..75).contains(&stuck), "{stuck} instead of about 50");
        }
    }

    #[test]
    fn nothing_happens_by_chance_to_a_replica_before_it_joins() {
        let faults = silent(&scenario(), 3);
        assert!(faults.len() > 100 && faults[0] >= 10_000);
    }

    #[test]
    fn every_opening_takes_its_own_time_within_the_jitter() {
        let scenario = scenario();
        let startup = |turn| scenario.startup(1, scenario.begin_of(turn));
        let mut seen: Vec<_> = (0..100).map(startup).collect();
        assert_eq!(seen[5], scenario.startup(1, scenario.begin_of(5) + Span::from_millis(900)));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [2, 3, 4, 5].map(Span::from_secs));
    }

    #[test]
    fn the_greatest_jitter_is_no_small_one() {
        let text =
            "{turn: 1s, turns: 9, requestsPerTurn: 1, replicas: {count: 1, startup: 0}, startupJitter: 4294967295}";
        let scenario = ScenarioFile::parse("s.yaml", text).unwrap();
        assert!((0..9).any(|turn| scenario.startup(0, scenario.begin_of(turn)) > Span::from_secs(1_000_000)));
    }

    #[test]
    fn without_chance_a_seed_changes_nothing() {
        let text = "{turn: 1s, turns: 9, requestsPerTurn: 1, replicas: {count: 1, startup: 2}}";
        let scenario = ScenarioFile::parse("s.yaml", text).unwrap();
        assert_eq!(scenario.startup(0, Time::ZERO), Span::from_secs(2));
        assert_eq!(scenario.clone().seeded(9).condition(0, Opening::Warm, Time::ZERO), Condition::HEALTHY);
    }
}
