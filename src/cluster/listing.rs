//! How the changes of one watch become facts, also across lists that begin anew.

use std::collections::BTreeSet;

use super::Change;
use crate::engine::Time;

/// What an object's record is told apart by, and the order in which a list is taken in.
pub(super) trait Listed {
    type Key: Ord;
    type Order: Ord;
    fn key(&self) -> Self::Key;
    fn order(&self) -> Self::Order;
}

/// One watch as it stands.
#[derive(Debug)]
pub(super) struct Listing<R> {
    /// The list that is being read: it replaces what is known once it is complete.
    partial: Option<Vec<R>>,
    health: WatchHealth,
}

/// How a watch fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchHealth {
    /// Its first list is complete.
    pub listed: bool,
    /// When it last delivered anything; quiet kinds deliver nothing for hours.
    pub last_event: Option<Time>,
    /// The error it is trying to get over.
    pub failure: Option<String>,
}

/// What is learned of objects: first of those that are gone.
#[derive(Debug)]
pub(super) struct News<R: Listed> {
    pub(super) gone: Vec<R::Key>,
    pub(super) seen: Vec<R>,
}

impl<R: Listed> Listing<R> {
    pub(super) fn health(&self) -> &WatchHealth {
        &self.health
    }

    /// Takes a change in. A list says nothing before it is complete; then every known object that it does not
    /// contain was deleted while nobody watched.
    pub(super) fn take(&mut self, change: Change<R>, known: impl FnOnce() -> Vec<R::Key>, now: Time) -> News<R> {
        let mut news = News { gone: Vec::new(), seen: Vec::new() };
        if let Change::Failed(error) = change {
            self.health.failure = Some(error);
            return news;
        }
        self.health.failure = None;
        self.health.last_event = Some(now);
        match change {
            Change::ListBegan => self.partial = Some(Vec::new()),
            Change::Listed(record) => self.partial.get_or_insert_default().push(record),
            Change::ListEnded => {
                self.health.listed = true;
                news = complete(self.partial.take().unwrap_or_default(), known());
            }
            Change::Applied(record) => news.seen.push(record),
            Change::Deleted(record) => news.gone.push(record.key()),
            Change::Failed(_) => {}
        }
        news
    }
}

fn complete<R: Listed>(mut seen: Vec<R>, mut known: Vec<R::Key>) -> News<R> {
    let listed: BTreeSet<R::Key> = seen.iter().map(Listed::key).collect();
    known.retain(|key| !listed.contains(key));
    seen.sort_by_cached_key(Listed::order);
    News { gone: known, seen }
}

impl<R> Default for Listing<R> {
    fn default() -> Self {
        Self { partial: None, health: WatchHealth::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::records::NodeRecord;
    use crate::engine::NodeState;

    #[test]
    fn a_failure_lasts_until_the_watch_delivers_again_and_takes_back_no_list() {
        let mut watch = Listing::<NodeRecord>::default();
        let node = || NodeRecord { name: "a".into(), state: NodeState::Ready, zone: None };
        let mut take = |change, now| {
            watch.take(change, Vec::new, Time::from_nanos(now));
            watch.health().clone()
        };
        take(Change::ListBegan, 1);
        let listed = take(Change::ListEnded, 2);
        assert_eq!(listed, WatchHealth { listed: true, last_event: Some(Time::from_nanos(2)), failure: None });
        let failed = take(Change::Failed("gone".to_owned()), 3);
        assert_eq!(failed, WatchHealth { failure: Some("gone".to_owned()), ..listed.clone() });
        let again = take(Change::Applied(node()), 4);
        assert_eq!(again, WatchHealth { last_event: Some(Time::from_nanos(4)), ..listed });
    }
}
