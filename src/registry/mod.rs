//! Who is there, by heartbeats: a replica that beats is listed; one that has been silent for the time to live is not.
//! Pure: the model keeps a registry in logical time, the fake app's registry process in real time.

mod resolve;

use std::collections::BTreeMap;

use crate::engine::{Span, Time};

pub use resolve::{NotAResolve, Resolve, Resolver};

/// The entries of those who beat.
///
/// An entry is listed for less than the time to live after its last beat. One that is no longer listed keeps its
/// place, should it beat again; one that has left does not.
#[derive(Clone, Debug)]
pub struct Registry<Name> {
    time_to_live: Span,
    entries: BTreeMap<Name, Entry>,
    registrations: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: u64,
    last_beat: Time,
}

impl<Name: Ord + Clone> Registry<Name> {
    /// A registry without entries.
    pub const fn new(time_to_live: Span) -> Self {
        Self { time_to_live, entries: BTreeMap::new(), registrations: 0 }
    }

    /// Hears a beat; the first one registers.
    pub fn beat(&mut self, name: Name, now: Time) {
        let place = self.registrations;
        let entry = self.entries.entry(name).or_insert_with(|| {
            self.registrations += 1;
            Entry { place, last_beat: now }
        });
        entry.last_beat = now;
    }

    /// Removes an entry, as one that shuts down in an orderly way asks for.
    pub fn leave(&mut self, name: &Name) {
        self.entries.remove(name);
    }

    /// Those who are listed at `now`, in the order of their first registration.
    pub fn resolve(&self, now: Time) -> Vec<Name> {
        let listed = self.entries.iter().filter(|(_, entry)| now.since(entry.last_beat) < self.time_to_live);
        let mut listed: Vec<_> = listed.map(|(name, entry)| (entry.place, name)).collect();
        listed.sort_unstable_by_key(|(place, _)| *place);
        listed.into_iter().map(|(_, name)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn registry() -> Registry<&'static str> {
        let mut registry = Registry::new(Span::from_millis(3_000));
        registry.beat("k2", t(0));
        registry.beat("k1", t(500));
        registry
    }

    #[test]
    fn an_entry_is_listed_for_less_than_the_time_to_live_after_its_last_beat() {
        let mut registry = registry();
        assert_eq!(registry.resolve(t(2_999)), ["k2", "k1"]);
        assert_eq!(registry.resolve(t(3_000)), ["k1"]);
        registry.beat("k1", t(3_400));
        assert_eq!(registry.resolve(t(6_399)), ["k1"]);
        assert!(registry.resolve(t(6_400)).is_empty());
    }

    #[test]
    fn an_entry_that_beats_again_is_where_it_was() {
        let mut registry = registry();
        registry.beat("k1", t(3_000));
        registry.beat("k3", t(3_000));
        registry.beat("k2", t(4_000));
        assert_eq!(registry.resolve(t(4_000)), ["k2", "k1", "k3"]);
    }

    #[test]
    fn one_that_left_is_gone_at_once_and_comes_back_as_the_last() {
        let mut registry = registry();
        registry.leave(&"k2");
        assert_eq!(registry.resolve(t(500)), ["k1"]);
        registry.beat("k2", t(600));
        assert_eq!(registry.resolve(t(600)), ["k1", "k2"]);
    }

    #[test]
    fn without_a_time_to_live_nobody_is_ever_listed() {
        let mut registry = Registry::new(Span::ZERO);
        registry.beat(0, t(0));
        assert!(registry.resolve(t(0)).is_empty());
    }
}
