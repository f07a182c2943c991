//! Which pods the slices of Services call ready, whoever writes them, and who entered or left: to measure how long a
//! decision takes to get there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::records::{ObjectName, Uid};
use crate::engine::Readiness;

/// A pod that entered the slices, or left them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which pod.
    pub pod: ObjectName,
    /// Whether any slice calls it ready.
    pub to: Readiness,
}

/// How many slices call a pod ready. Of no more pods than the slices are told to keep.
#[derive(Debug, Default)]
pub(super) struct InSlices {
    counts: BTreeMap<Uid, u32>,
    moves: Vec<Move>,
}

/// The pods that a slice calls ready, by name and UID.
pub(super) type ReadyPods = BTreeSet<(Arc<str>, Uid)>;

impl InSlices {
    /// A slice called these ready, and now calls those so.
    pub(super) fn replace(&mut self, namespace: &str, before: &ReadyPods, now: &ReadyPods) {
        for (pod, uid) in now.difference(before) {
            let count = self.counts.entry(uid.clone()).or_default();
            *count += 1;
            if *count == 1 {
                self.moves.push(Move { pod: ObjectName::new(namespace, pod), to: Readiness::Ready });
            }
        }
        for (pod, uid) in before.difference(now) {
            let Some(count) = self.counts.get_mut(uid) else { continue };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(uid);
                self.moves.push(Move { pod: ObjectName::new(namespace, pod), to: Readiness::NotReady });
            }
        }
    }

    pub(super) fn take_moves(&mut self) -> Vec<Move> {
        std::mem::take(&mut self.moves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(names: &[&str]) -> ReadyPods {
        names.iter().map(|name| ((*name).into(), Uid(format!("uid-{name}").into()))).collect()
    }

    #[test]
    fn a_pod_enters_with_the_first_slice_that_calls_it_ready_and_leaves_with_the_last() {
        let mut slices = InSlices::default();
        let to = |slices: &mut InSlices| slices.take_moves().iter().map(|it| it.to).collect::<Vec<_>>();
        slices.replace("shop", &pods(&[]), &pods(&["a"]));
        assert_eq!(to(&mut slices), [Readiness::Ready]);
        slices.replace("shop", &pods(&[]), &pods(&["a"]));
        slices.replace("shop", &pods(&["a"]), &pods(&[]));
        assert_eq!(to(&mut slices), [], "it moved from one slice to another");
        slices.replace("shop", &pods(&["a"]), &pods(&[]));
        assert_eq!(to(&mut slices), [Readiness::NotReady]);
    }
}
