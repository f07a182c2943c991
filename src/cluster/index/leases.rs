//! The Leases by which pods say that they are there: what they held last, and what each change of them means.

use std::collections::BTreeMap;

use crate::cluster::Change;
use crate::cluster::listing::{Listing, News, WatchHealth};
use crate::cluster::records::{LeaseRecord, ObjectName, Uid};
use crate::engine::{Span, Time};

/// After a failed watch the next try comes within this time, and fails again or is as good as new: its backoff grows to
/// 30 s, and is drawn out to twice that at most.
const DEAF_FOR: Span = Span::from_secs(65);

/// The Leases, as last seen.
#[derive(Debug, Default)]
pub(super) struct Leases {
    known: BTreeMap<ObjectName, LeaseRecord>,
    watch: Listing<LeaseRecord>,
    deaf_until: Option<Time>,
}

/// What Leases say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The pod of that name is there.
    Beat(ObjectName, Option<Uid>),
    /// It goes.
    Deregistered(ObjectName, Option<Uid>),
    /// Beats until then may not reach us.
    Deaf(Time),
}

impl Leases {
    /// Takes in what the watch delivered. What its first list contains was said before we listened.
    pub(super) fn take(&mut self, change: Change<LeaseRecord>, now: Time) -> Vec<Word> {
        let listens = self.watch.health().listed;
        let mut words = self.deafness(&change, now);
        let Self { known, watch, .. } = self;
        let News { gone, seen } = watch.take(change, || known.keys().cloned().collect(), now);
        for name in gone {
            if let Some(lease) = known.remove(&name).filter(|lease| lease.renewed.is_some()) {
                words.push(Word::Deregistered(name, lease.pod));
            }
        }
        for lease in seen {
            let before = known.insert(lease.name.clone(), lease.clone());
            let renewed = before.as_ref().and_then(|before| before.renewed);
            let is_same = before.is_some_and(|before| before.pod == lease.pod) && renewed == lease.renewed;
            if !listens || is_same {
                continue;
            }
            match lease.renewed {
                Some(_) => words.push(Word::Beat(lease.name, lease.pod)),
                None if renewed.is_some() => words.push(Word::Deregistered(lease.name, lease.pod)),
                None => {}
            }
        }
        words
    }

    pub(super) fn health(&self) -> &WatchHealth {
        self.watch.health()
    }

    /// Until when beats may not reach us, from a failure that is not over.
    pub(super) fn deaf_until(&self) -> Option<Time> {
        self.deaf_until
    }

    /// A failed watch makes deaf until it has delivered again, but not for ever: one that came back and has nothing to
    /// deliver does not say so.
    fn deafness(&mut self, change: &Change<LeaseRecord>, now: Time) -> Vec<Word> {
        match change {
            Change::Failed(_) => {
                self.deaf_until = Some(now + DEAF_FOR);
                vec![Word::Deaf(now + DEAF_FOR)]
            }
            Change::ListBegan | Change::Listed(_) => Vec::new(),
            Change::ListEnded | Change::Applied(_) | Change::Deleted(_) => {
                let was_deaf = self.deaf_until.take().is_some_and(|until| now < until);
                if was_deaf { vec![Word::Deaf(now)] } else { Vec::new() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(renewed: Option<u64>) -> LeaseRecord {
        let name = ObjectName::new("shop", "a");
        LeaseRecord { name, pod: Some(Uid("uid-a".into())), renewed: renewed.map(Time::from_nanos) }
    }

    fn listening_to(list: Option<LeaseRecord>) -> Leases {
        let mut leases = Leases::default();
        leases.take(Change::ListBegan, Time::ZERO);
        list.map(|lease| leases.take(Change::Listed(lease), Time::ZERO));
        assert_eq!(leases.take(Change::ListEnded, Time::ZERO), []);
        leases
    }

    fn beat() -> Word {
        Word::Beat(ObjectName::new("shop", "a"), Some(Uid("uid-a".into())))
    }

    fn deregistered() -> Word {
        Word::Deregistered(ObjectName::new("shop", "a"), Some(Uid("uid-a".into())))
    }

    #[test]
    fn a_renewal_is_a_beat_and_nothing_else_is() {
        let mut leases = listening_to(Some(lease(Some(1))));
        assert_eq!(leases.take(Change::Applied(lease(Some(1))), Time::ZERO), []);
        assert_eq!(leases.take(Change::Applied(lease(Some(2))), Time::ZERO), [beat()]);
    }

    #[test]
    fn a_lease_that_is_made_beats_and_one_that_is_deleted_or_given_up_deregisters_once() {
        let mut leases = listening_to(None);
        assert_eq!(leases.take(Change::Applied(lease(Some(1))), Time::ZERO), [beat()]);
        assert_eq!(leases.take(Change::Applied(lease(None)), Time::ZERO), [deregistered()]);
        assert_eq!(leases.take(Change::Deleted(lease(None)), Time::ZERO), []);
        assert_eq!(leases.take(Change::Applied(lease(Some(2))), Time::ZERO), [beat()]);
        assert_eq!(leases.take(Change::Deleted(lease(Some(2))), Time::ZERO), [deregistered()]);
    }

    #[test]
    fn what_a_new_list_shows_otherwise_was_said_while_the_watch_was_broken() {
        let mut leases = listening_to(Some(lease(Some(1))));
        let later = Time::ZERO + Span::from_secs(9);
        let deaf = leases.take(Change::Failed("gone".to_owned()), Time::ZERO);
        assert_eq!(deaf, [Word::Deaf(Time::ZERO + DEAF_FOR)]);
        leases.take(Change::ListBegan, later);
        leases.take(Change::Listed(lease(Some(2))), later);
        assert_eq!(leases.take(Change::ListEnded, later), [Word::Deaf(later), beat()]);
        leases.take(Change::ListBegan, later);
        assert_eq!(leases.take(Change::ListEnded, later), [deregistered()]);
    }
}
