//! Leadership: who may act, as a pure function of what was read, what was acknowledged and the local monotonic time.
//!
//! The semantics are client-go's. A record's own timestamps are never compared with the local clock: a claimant
//! notes the local instant at which the record was last seen to *change* and counts the other's duration from there.
//! A holder stops acting `renew_deadline` after it *sent* the last acknowledged renewal, which is before any other
//! claimant may take over. Every write is a compare-and-swap on the record's resource version.

use crate::engine::{Span, Time};

/// How long things take in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    duration: Span,
    renew_deadline: Span,
    retry: Span,
}

/// Why a set of durations makes no election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// Somebody else could start before the holder stops.
    #[error("the renew deadline ({deadline}) must be at least 2s shorter than the lease duration ({duration})")]
    DeadlineTooLong {
        /// The deadline asked for.
        deadline: Span,
        /// The duration asked for.
        duration: Span,
    },
    /// One late answer would cost the leadership.
    #[error("the retry period ({retry}) must be above zero and shorter than half the renew deadline ({deadline})")]
    RetryTooLong {
        /// The retry period asked for.
        retry: Span,
        /// The deadline asked for.
        deadline: Span,
    },
    /// The record holds whole seconds.
    #[error("the lease duration ({duration}) must be whole seconds")]
    NotWholeSeconds {
        /// The duration asked for.
        duration: Span,
    },
}

/// The lease object as it was last read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its resource version: equal exactly if nothing was written in between.
    pub version: String,
    /// Who holds it; `None` once released.
    pub holder: Option<String>,
    /// For how long the holder claims it at each renewal.
    pub duration: Span,
    /// How often it has changed hands.
    pub transitions: i32,
}

/// What to write now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nothing: somebody else holds it, or may.
    Wait,
    /// There is no object: create it.
    Create,
    /// Take it over at this version.
    Take {
        /// The version that was read.
        version: String,
        /// The count of transitions to write.
        transitions: i32,
    },
    /// Renew it at this version.
    Renew {
        /// The version that was read or written.
        version: String,
    },
}

/// A stretch of leadership without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// Tells it from the stretches before.
    pub term: u64,
    /// Acting ends here unless a renewal is acknowledged before.
    pub until: Time,
}

/// One claimant's side of an election.
#[derive(Clone, Debug)]
pub struct Election {
    identity: String,
    terms: Terms,
    seen: Option<Seen>,
    tenure: Option<Tenure>,
    /// The stretches of leadership that were begun.
    terms_begun: u64,
}

#[derive(Clone, Debug)]
struct Seen {
    record: Record,
    changed: Time,
}

impl Terms {
    /// 15 s, 10 s and 2 s, as the cluster's own controllers have them.
    pub const DEFAULT: Self =
        Self { duration: Span::from_secs(15), renew_deadline: Span::from_secs(10), retry: Span::from_secs(2) };

    /// An election with these durations.
    ///
    /// # Errors
    /// If with them two claimants could act at once, or a single late answer would end a tenure.
    pub fn new(duration: Span, renew_deadline: Span, retry: Span) -> Result<Self, TermsError> {
        if !duration.as_nanos().is_multiple_of(1_000_000_000) {
            return Err(TermsError::NotWholeSeconds { duration });
        }
        if renew_deadline + Span::from_secs(2) > duration {
            return Err(TermsError::DeadlineTooLong { deadline: renew_deadline, duration });
        }
        if retry.is_zero() || retry * 2 >= renew_deadline {
            return Err(TermsError::RetryTooLong { retry, deadline: renew_deadline });
        }
        Ok(Self { duration, renew_deadline, retry })
    }

    /// For how long a holder claims the lease at each renewal.
    pub const fn duration(&self) -> Span {
        self.duration
    }

    /// From one attempt to claim or renew to the next.
    pub const fn retry(&self) -> Span {
        self.retry
    }

    /// How long any request that acts as the leader may take: sent at the last moment of a tenure, it is over
    /// before another claimant may start.
    pub fn request_timeout(&self) -> Span {
        let gap = self.duration.as_nanos() - self.renew_deadline.as_nanos();
        Span::from_nanos(gap / 5 * 4)
    }
}

impl Election {
    /// A claimant that has read nothing yet. No two living claimants may share an identity.
    pub fn new(identity: String, terms: Terms) -> Self {
        Self { identity, terms, seen: None, tenure: None, terms_begun: 0 }
    }

    /// The record was read at `now`. If somebody else holds it, a tenure of our own is over, whatever the local clock
    /// says: that of a suspended machine stood still.
    pub fn observe(&mut self, now: Time, record: Record) {
        if record.holder.as_ref() != Some(&self.identity) {
            self.tenure = None;
        }
        let unchanged = self.seen.as_ref().is_some_and(|seen| seen.record.version == record.version);
        if !unchanged {
            self.seen = Some(Seen { record, changed: now });
        }
    }

    /// There is no object, or our own record may not be the newest: the next claim needs a fresh reading.
    pub fn forget(&mut self) {
        self.seen = None;
    }

    /// What to write at `now`, given what was read.
    pub fn claim(&self, now: Time) -> Claim {
        let Some(seen) = &self.seen else { return Claim::Create };
        let Record { version, holder, duration, transitions } = &seen.record;
        match holder {
            Some(holder) if *holder == self.identity => Claim::Renew { version: version.clone() },
            Some(_) if now < seen.changed + *duration => Claim::Wait,
            Some(_) | None => Claim::Take { version: version.clone(), transitions: transitions.saturating_add(1) },
        }
    }

    /// A claim that was sent at `sent` was acknowledged at `now` and made `record`.
    pub fn acknowledged(&mut self, sent: Time, now: Time, record: Record) {
        if self.tenure.is_none_or(|tenure| tenure.until <= now) {
            self.terms_begun += 1;
        }
        self.tenure = Some(Tenure { term: self.terms_begun, until: sent + self.terms.renew_deadline });
        self.seen = Some(Seen { record, changed: now });
    }

    /// The stretch in which this claimant may act. It may lie in the past.
    pub fn tenure(&self) -> Option<Tenure> {
        self.tenure
    }

    /// The record as last read or written.
    pub fn record(&self) -> Option<&Record> {
        self.seen.as_ref().map(|seen| &seen.record)
    }

    /// The version at which to release the lease; `None` if it is not ours.
    pub fn release(&mut self) -> Option<String> {
        self.tenure = None;
        let record = self.record()?;
        (record.holder.as_ref() == Some(&self.identity)).then(|| record.version.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_claimant_creates_the_lease_and_leads() {
        let mut alice = claimant("alice");
        assert_eq!(alice.claim(at(0)), Claim::Create);
        alice.acknowledged(at(0), at(1), held_by("alice", "1"));
        assert_eq!(alice.tenure(), Some(Tenure { term: 1, until: at(10) }));
    }

    #[test]
    fn a_tenure_counts_from_before_the_request_was_sent() {
        let mut alice = claimant("alice");
        alice.acknowledged(at(0), at(9), held_by("alice", "1"));
        assert_eq!(alice.tenure().unwrap().until, at(10));
    }

    #[test]
    fn bob_waits_for_a_whole_duration_from_the_last_change_he_saw() {
        let mut bob = claimant("bob");
        bob.observe(at(100), held_by("alice", "1"));
        bob.observe(at(110), held_by("alice", "1"));
        assert_eq!(bob.claim(at(114)), Claim::Wait);
        assert_eq!(bob.claim(at(115)), Claim::Take { version: "1".to_owned(), transitions: 1 });
    }

    #[test]
    fn a_renewal_that_bob_sees_starts_his_count_again() {
        let mut bob = claimant("bob");
        bob.observe(at(0), held_by("alice", "1"));
        bob.observe(at(14), held_by("alice", "2"));
        assert_eq!(bob.claim(at(28)), Claim::Wait);
    }

    #[test]
    fn alice_has_stopped_before_bob_may_start_however_late_her_answers_are() {
        for answer in 0..15 {
            let mut alice = claimant("alice");
            alice.acknowledged(at(0), at(answer), held_by("alice", "1"));
            // The earliest that Bob can have seen her write is the instant she sent it.
            let mut bob = claimant("bob");
            bob.observe(at(0), held_by("alice", "1"));
            let bob_starts = (0..60).map(at).find(|now| bob.claim(*now) != Claim::Wait).unwrap();
            assert!(alice.tenure().unwrap().until + Terms::DEFAULT.request_timeout() < bob_starts);
        }
    }

    #[test]
    fn a_released_lease_is_taken_at_once() {
        let mut bob = claimant("bob");
        bob.observe(at(0), Record { holder: None, ..held_by("alice", "7") });
        assert_eq!(bob.claim(at(0)), Claim::Take { version: "7".to_owned(), transitions: 1 });
    }

    #[test]
    fn renewals_without_a_gap_keep_the_term_and_a_gap_begins_a_new_one() {
        let mut alice = claimant("alice");
        alice.acknowledged(at(0), at(0), held_by("alice", "1"));
        alice.acknowledged(at(2), at(2), held_by("alice", "2"));
        assert_eq!(alice.tenure().unwrap().term, 1);
        // Frozen past her own deadline and continued before Bob took over: what she had decided is void.
        alice.acknowledged(at(2), at(13), held_by("alice", "3"));
        assert_eq!(alice.tenure().unwrap().term, 2);
    }

    #[test]
    fn alice_steps_down_when_she_reads_that_bob_holds_it_and_never_returns_to_the_old_term() {
        let mut alice = claimant("alice");
        alice.acknowledged(at(0), at(0), held_by("alice", "1"));
        alice.observe(at(2), held_by("bob", "2"));
        assert_eq!(alice.tenure(), None);
        alice.acknowledged(at(3), at(3), held_by("alice", "3"));
        assert_eq!(alice.tenure().unwrap().term, 2);
    }

    #[test]
    fn only_the_holder_has_something_to_release() {
        let mut alice = claimant("alice");
        alice.acknowledged(at(0), at(0), held_by("alice", "1"));
        assert_eq!(alice.release(), Some("1".to_owned()));
        assert_eq!(alice.tenure(), None);
        let mut bob = claimant("bob");
        bob.observe(at(0), held_by("alice", "1"));
        assert_eq!(bob.release(), None);
    }

    #[test]
    fn durations_with_which_two_could_act_at_once_are_refused() {
        let seconds = Span::from_secs;
        assert!(Terms::new(seconds(10), seconds(9), seconds(2)).is_err());
        assert!(Terms::new(seconds(15), seconds(10), seconds(5)).is_err());
        assert!(Terms::new(Span::from_millis(15_500), seconds(10), seconds(2)).is_err());
        assert_eq!(Terms::new(seconds(15), seconds(10), seconds(2)), Ok(Terms::DEFAULT));
    }

    fn claimant(name: &str) -> Election {
        Election::new(name.to_owned(), Terms::DEFAULT)
    }

    fn held_by(holder: &str, version: &str) -> Record {
        Record {
            version: version.to_owned(),
            holder: Some(holder.to_owned()),
            duration: Terms::DEFAULT.duration(),
            transitions: 0,
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }
}
