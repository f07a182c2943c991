//! How long replicas took to start, by revision: what a startup rule has to leave them.

use super::{RevisionKey, Span};

/// The latest revisions that are kept.
const REVISIONS: usize = 3;

const BOUNDS: [Span; 11] = [
    Span::from_secs(1),
    Span::from_secs(2),
    Span::from_secs(5),
    Span::from_secs(10),
    Span::from_secs(20),
    Span::from_secs(30),
    Span::from_secs(60),
    Span::from_secs(120),
    Span::from_secs(300),
    Span::from_secs(600),
    Span::from_secs(1_800),
];

/// How long the replicas of one revision took from their container's start to the pass that ended it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupTimes {
    /// Starts that took up to each of [`StartupTimes::BOUNDS`] and longer than the one before; last, all longer ones.
    pub counts: [u32; BOUNDS.len() + 1],
    /// All of them together.
    pub total: Span,
    /// The longest of them.
    pub longest: Span,
}

/// The startup times of a fleet by revision, in the order in which a replica of theirs first started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Startups(Vec<(Option<RevisionKey>, StartupTimes)>);

impl StartupTimes {
    /// How long a start takes at most that is counted under each number but the last.
    pub const BOUNDS: [Span; 11] = BOUNDS;

    /// How many starts there were.
    pub fn starts(&self) -> u32 {
        self.counts.iter().fold(0, |starts, count| starts.saturating_add(*count))
    }

    /// Under which number a start is counted that took so long.
    pub fn bucket(took: Span) -> usize {
        Self::BOUNDS.partition_point(|bound| *bound < took)
    }

    fn note(&mut self, took: Span) {
        let bucket = Self::bucket(took);
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.total = self.total + took;
        self.longest = self.longest.max(took);
    }
}

impl Startups {
    /// As an earlier engine left them.
    pub(super) fn restore(&mut self, revision: Option<RevisionKey>, times: StartupTimes) {
        *self.of(revision) = times;
    }

    /// A replica of that revision has finished starting.
    pub(super) fn note(&mut self, revision: Option<RevisionKey>, took: Span) {
        self.of(revision).note(took);
    }

    /// The longest time that any of them took; `None` if nobody has started.
    pub(super) fn longest(&self) -> Option<Span> {
        self.0.iter().map(|(_, times)| times.longest).max()
    }

    /// All that are kept, the oldest revision first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Option<RevisionKey>, StartupTimes)> {
        self.0.iter()
    }

    fn of(&mut self, revision: Option<RevisionKey>) -> &mut StartupTimes {
        let place = self.0.iter().position(|(known, _)| *known == revision).unwrap_or_else(|| {
            if self.0.len() == REVISIONS {
                self.0.remove(0);
            }
            self.0.push((revision, StartupTimes::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_counted_under_the_first_bound_that_it_does_not_exceed() {
        let mut startups = Startups::default();
        for millis in [1_000, 1_001, 25_000, 1_800_001] {
            startups.note(None, Span::from_millis(millis));
        }
        let (_, times) = startups.iter().next().unwrap();
        assert_eq!(times.counts, [1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!((times.total, times.longest), (Span::from_millis(1_827_002), Span::from_millis(1_800_001)));
    }

    #[test]
    fn only_the_latest_revisions_are_kept() {
        let mut startups = Startups::default();
        for revision in 0..5 {
            startups.note(Some(RevisionKey(revision)), Span::from_secs(60 - u64::from(revision)));
        }
        let kept: Vec<_> = startups.iter().map(|(revision, _)| *revision).collect();
        assert_eq!(kept, [2, 3, 4].map(|revision| Some(RevisionKey(revision))));
        assert_eq!(startups.longest(), Some(Span::from_secs(58)));
    }
}
