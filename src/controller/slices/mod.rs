//! Pools that are told by EndpointSlices of our own: which slices are to be written, and when a pod's gate stands there.
//!
//! ```text
//!  gates of the engine, pods, Services --> Pool (premise, placement) --> Order --API server--> Index
//! ```
//!
//! Placement and pools are pure: a pool says how each slice should be, the index how it is, and what differs is written,
//! one write of a slice at a time.

mod endpoint;
mod placement;
mod pool;
mod premise;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use super::answer::Failure;
use crate::cluster::records::{ObjectName, PodRecord, ServiceRecord};
use crate::cluster::{Index, PoolName, Touched};
use crate::engine::{EffectResult, Gate, Refusal, ReplicaKey, Span, Time};
use pool::{Known, Pool, Verdicts};
use premise::{Keeper, Premise};

pub use premise::{others_slice, usable};
pub use write::{Order, SliceWrite};

/// How long nobody must keep a pool until all that are in it are let in: as long as for a gate.
const RELEASE_AFTER: Span = Span::from_secs(30);
/// From one write of a slice to the next that no decision waits for.
const PACE: Span = Span::from_millis(100);
/// So long after a slice may be written again, it is forgotten how often that failed.
const FORGET_AFTER: Span = Span::from_secs(60);

/// The pools of all policies, as this leader keeps them.
#[derive(Debug, Default)]
pub struct Slices {
    pools: BTreeMap<PoolName, Pool>,
    verdicts: Verdicts,
    /// Since when nobody keeps a pool.
    abandoned: BTreeMap<PoolName, Time>,
    waiting: BTreeMap<ReplicaKey, Waiting>,
    paces: BTreeMap<ObjectName, Pace>,
}

/// A decision that is not written yet.
#[derive(Debug)]
struct Waiting {
    pool: PoolName,
    pod: ObjectName,
    slices: Leg,
    pod_write: Leg,
}

/// One of the writes that carry a decision out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// It is not answered yet.
    UnderWay,
    /// It went so.
    Done(EffectResult),
}

/// When a slice may be written.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    in_flight: bool,
    not_before: Time,
    failures: u32,
}

/// What is to be done now.
#[derive(Debug, Default)]
pub struct Due {
    /// Writes to carry out; each is answered with [`Slices::written`].
    pub orders: Vec<Order>,
    /// Decisions that are carried out, or cannot be.
    pub answers: Vec<(ReplicaKey, EffectResult)>,
}

impl Slices {
    /// A gate was decided; what becomes of it is among the answers of [`Slices::due`]. `pod_write` is what is known of
    /// the write of the pod itself.
    pub fn hold(
        &mut self,
        index: &Index,
        replica: ReplicaKey,
        pool: PoolName,
        pod: &PodRecord,
        gate: Gate,
        pod_write: Leg,
    ) {
        self.verdicts.insert(pod.name.clone(), (pod.uid.clone(), gate));
        if let Some(known) = self.pools.get_mut(&pool) {
            known.follow_pod(index, &pod.name, &self.verdicts);
            for slice in known.slices_of(&pod.uid) {
                if let Some(pace) = self.paces.get_mut(slice) {
                    pace.not_before = Time::ZERO;
                }
            }
        }
        self.waiting.insert(replica, Waiting { pool, pod: pod.name.clone(), slices: Leg::UnderWay, pod_write });
    }

    /// The write of the pod itself was answered; false if no decision waits for that.
    pub fn wrote_pod(&mut self, replica: ReplicaKey, result: EffectResult) -> bool {
        let waiting = self.waiting.get_mut(&replica);
        waiting.map(|waiting| waiting.pod_write = Leg::Done(result)).is_some()
    }

    /// A slice's write was answered; the index knows already what it made of the slice.
    pub fn written(&mut self, index: &Index, slice: &ObjectName, result: Result<(), &Failure>, now: Time) {
        let pace = self.paces.entry(slice.clone()).or_default();
        pace.in_flight = false;
        match result {
            Ok(()) => (pace.failures, pace.not_before) = (0, now + PACE),
            Err(failure) => {
                pace.not_before = now + Refusal::retry_after(pace.failures);
                pace.failures = pace.failures.saturating_add(1);
                let pools = &self.pools;
                let in_it = |waiting: &&mut Waiting| {
                    let pod = index.pod_named(&waiting.pod);
                    let pool = pools.get(&waiting.pool);
                    pool.zip(pod).is_some_and(|(pool, (_, pod))| pool.holds(slice, &pod.uid))
                };
                for waiting in self.waiting.values_mut().filter(in_it) {
                    waiting.slices = Leg::Done(failure.result());
                }
            }
        }
    }

    /// Everything that is to be done at `now`, after the index has said what was touched.
    pub fn due(&mut self, index: &Index, touched: BTreeSet<Touched>, now: Time) -> Due {
        let mut anew = touched.contains(&Touched::Pools) || self.next_release().is_some_and(|at| at <= now);
        for touched in touched {
            match touched {
                Touched::Pools => {}
                Touched::Pod(pod) => self.follow_pod(index, &pod),
                Touched::Slice(slice) => anew |= self.follow_slice(index, &slice) == Known::No,
            }
        }
        if anew {
            self.reconcile(index, now);
        }
        Due { orders: self.orders(index, now), answers: self.answers(index) }
    }

    /// When something is due after `now`, if nothing happens before.
    pub fn next(&self, now: Time) -> Option<Time> {
        let paces = self.paces.values().filter(|pace| !pace.in_flight).map(|pace| pace.not_before);
        let paces = paces.filter(|at| *at > now);
        paces.chain(self.next_release()).min()
    }

    fn follow_pod(&mut self, index: &Index, name: &ObjectName) {
        if index.pod_named(name).is_none() {
            self.verdicts.remove(name);
        }
        let of_namespace = self.pools.values_mut().filter(|pool| pool.namespace() == &*name.namespace);
        of_namespace.for_each(|pool| pool.follow_pod(index, name, &self.verdicts));
    }

    fn follow_slice(&mut self, index: &Index, name: &ObjectName) -> Known {
        let is_without_pool =
            index.slice(name).and_then(PoolName::of).is_some_and(|pool| !self.pools.contains_key(&pool));
        if is_without_pool {
            return Known::No;
        }
        let mut known = Known::Yes;
        for (pool_name, pool) in self.pools.iter_mut().filter(|(pool, _)| pool.policy.namespace == name.namespace) {
            if pool.follow_slice(index, name) == Known::No {
                let premise = pool.premise().clone();
                *pool = Pool::new(index, pool_name.clone(), premise, &self.verdicts);
                known = Known::Yes;
            }
        }
        known
    }

    /// Which pools there are, and on which premise; those whose premise is another begin anew.
    fn reconcile(&mut self, index: &Index, now: Time) {
        let kept: BTreeMap<PoolName, Keeper> =
            index.pools().map(|(policy, pool)| (pool, Keeper::Policy(policy))).collect();
        let left = index.slices().filter_map(PoolName::of).filter(|pool| !kept.contains_key(pool));
        let left: BTreeSet<PoolName> = left.collect();
        self.abandoned.retain(|pool, _| left.contains(pool));
        for pool in &left {
            self.abandoned.entry(pool.clone()).or_insert(now);
        }
        let abandoned = &self.abandoned;
        let of_left = left.into_iter().map(|pool| {
            let since = abandoned.get(&pool).copied().unwrap_or(now);
            let keeper = if now.since(since) >= RELEASE_AFTER { Keeper::Released } else { Keeper::Nobody };
            (pool, keeper)
        });
        let mut pools = BTreeMap::new();
        for (name, keeper) in kept.into_iter().chain(of_left) {
            let premise = Premise { keeper, service: usable(index, &name).cloned() };
            let known = self.pools.remove(&name).filter(|pool| *pool.premise() == premise);
            let pool = known.unwrap_or_else(|| Pool::new(index, name.clone(), premise, &self.verdicts));
            pools.insert(name, pool);
        }
        self.pools = pools;
        let pools = &self.pools;
        let has_pool = |name: &ObjectName| {
            let keeper = index.pod_named(name).and_then(|(keeper, _)| keeper);
            keeper.and_then(|keeper| index.pool(keeper)).is_some_and(|pool| pools.contains_key(&pool))
        };
        self.verdicts.retain(|pod, _| has_pool(pod));
    }

    fn orders(&mut self, index: &Index, now: Time) -> Vec<Order> {
        self.paces.retain(|_, pace| pace.in_flight || now.since(pace.not_before) < FORGET_AFTER);
        let paces = &self.paces;
        let may = |slice: &ObjectName| paces.get(slice).is_none_or(|pace| !pace.in_flight && pace.not_before <= now);
        let orders: Vec<Order> = self.pools.values_mut().flat_map(|pool| pool.orders(index, may)).collect();
        for order in &orders {
            self.paces.entry(order.slice().clone()).or_default().in_flight = true;
        }
        orders
    }

    fn answers(&mut self, index: &Index) -> Vec<(ReplicaKey, EffectResult)> {
        let pools = &self.pools;
        let mut answers = Vec::new();
        self.waiting.retain(|replica, waiting| {
            if waiting.slices == Leg::UnderWay {
                waiting.slices = Leg::of(waiting, pools.get(&waiting.pool), index);
            }
            match (waiting.slices, waiting.pod_write) {
                (Leg::Done(EffectResult::Applied), Leg::Done(result)) | (Leg::Done(result), Leg::Done(_)) => {
                    answers.push((*replica, result));
                    false
                }
                (Leg::UnderWay, _) | (_, Leg::UnderWay) => true,
            }
        });
        answers
    }

    fn next_release(&self) -> Option<Time> {
        let unreleased =
            |pool: &PoolName| self.pools.get(pool).is_some_and(|pool| pool.premise().keeper == Keeper::Nobody);
        let abandoned = self.abandoned.iter().filter(|(pool, _)| unreleased(pool));
        abandoned.map(|(_, since)| *since + RELEASE_AFTER).min()
    }
}

impl Leg {
    fn of(waiting: &Waiting, pool: Option<&Pool>, index: &Index) -> Self {
        let Some((pool, (_, pod))) = pool.zip(index.pod_named(&waiting.pod)) else {
            return Self::Done(EffectResult::Refused(Refusal::Changed));
        };
        if pool.premise().service.is_err() {
            return Self::Done(EffectResult::Refused(Refusal::Failed));
        }
        if pool.shows(index, &pod.uid) { Self::Done(EffectResult::Applied) } else { Self::UnderWay }
    }
}

/// Whether a pod has a place in the slices of a Service: an address of a family, and a port, that both have.
pub fn has_place(pod: &PodRecord, service: &ServiceRecord) -> bool {
    !endpoint::addresses(pod, service).is_empty()
}
