//! Where the decisions of two policies part.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::engine::{Time, TransitionKind};
use crate::report::{Decision, Recording};

/// The first instant at which two policies decide differently, and what each decides there that the other does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parting {
    /// The number of the turn.
    pub turn: u64,
    /// What only the first policy decides.
    pub first: Vec<Decided>,
    /// What only the second policy decides.
    pub second: Vec<Decided>,
}

/// A decision in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    replica: usize,
    decision: &'static str,
    sentence: String,
}

/// What was decided about whom and when, but not for what reason: its sentence names thresholds, which differ.
type Key = (Time, usize, TransitionKind);

impl Parting {
    /// Where these two runs part, if they do.
    pub fn of(first: &Recording, second: &Recording) -> Option<Self> {
        let [left, right] = [first, second].map(|run| decisions(run).map(key).collect::<BTreeSet<Key>>());
        let (at, ..) = *left.symmetric_difference(&right).next()?;
        let only = |run, others: &BTreeSet<Key>| {
            decisions(run)
                .filter(|made| made.1.at == at && !others.contains(&key(*made)))
                .map(|(replica, decision)| Decided {
                    replica,
                    decision: decision.kind.name(),
                    sentence: decision.reason.to_string(),
                })
                .collect()
        };
        Some(Self { turn: first.turn_at(at), first: only(first, &right), second: only(second, &left) })
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replica, decision, sentence } = self;
        write!(f, "replica {replica}: {decision}: {sentence}")
    }
}

fn decisions(run: &Recording) -> impl Iterator<Item = (usize, &Decision)> {
    run.lanes().flat_map(|(replica, lane)| lane.decisions().iter().map(move |decision| (replica, decision)))
}

fn key((replica, decision): (usize, &Decision)) -> Key {
    (decision.at, replica, decision.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{OutcomeClass, Reason, RuleKind, Span};
    use crate::scenario::TrueState;

    #[test]
    fn runs_part_where_one_decides_what_the_other_does_not() {
        let ejected = TransitionKind::Ejected;
        let first = run(&[(1, 0, ejected, 1), (4, 2, ejected, 1), (4, 3, ejected, 1)]);
        let second = run(&[(1, 0, ejected, 2), (4, 3, ejected, 2), (5, 2, ejected, 2)]);
        let parting = Parting::of(&first, &second).unwrap();
        assert_eq!((parting.turn, parting.second), (4, Vec::new()));
        let words: Vec<_> = parting.first.iter().map(ToString::to_string).collect();
        let sentence = "the readiness rule failed 1 of 1 times in a row, last: no response";
        assert_eq!(words, [format!("replica 2: Ejected: {sentence}")]);
    }

    #[test]
    fn runs_with_the_same_decisions_do_not_part_whatever_their_thresholds() {
        let decisions = |streak| run(&[(1, 0, TransitionKind::Ejected, streak)]);
        assert_eq!(Parting::of(&decisions(1), &decisions(2)), None);
        assert_eq!(Parting::of(&run(&[]), &run(&[])), None);
    }

    #[test]
    fn a_run_that_decides_more_parts_where_the_other_ends() {
        let less = run(&[(1, 0, TransitionKind::Ejected, 1)]);
        let more = run(&[(1, 0, TransitionKind::Ejected, 1), (2, 0, TransitionKind::Admitted, 1)]);
        let parting = Parting::of(&less, &more).unwrap();
        assert_eq!((parting.turn, parting.first.len(), parting.second.len()), (2, 0, 1));
    }

    /// Decisions by second, replica, kind and streak.
    fn run(decisions: &[(u64, usize, TransitionKind, u32)]) -> Recording {
        let mut recording = Recording::new(9, Span::from_secs(1), 0);
        for (second, replica, kind, streak) in decisions {
            let last = OutcomeClass::NoResponse;
            let reason = Reason::Failed { rule: RuleKind::Readiness, streak: *streak, threshold: *streak, last };
            let at = Time::ZERO + Span::from_secs(*second);
            recording.decision(*replica, Decision { at, kind: *kind, reason, state: TrueState::Stuck });
        }
        recording
    }
}
