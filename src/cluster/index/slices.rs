//! The Services and EndpointSlices: how pods stand in slices of ours, and whose other slices there are.

use std::collections::{BTreeMap, BTreeSet};

use super::in_slices::{InSlices, Move};
use crate::cluster::Change;
use crate::cluster::listing::{Listing, News, WatchHealth};
use crate::cluster::records::{ObjectName, PodRecord, ServiceRecord, SliceBody, SliceRecord, Uid, of_namespace};
use crate::engine::{Gate, GateSeen, Readiness, Time};

/// The pool of a policy that is told by slices: the slices of one Service that bear its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolName {
    /// The policy.
    pub policy: ObjectName,
    /// The Service, of the same namespace.
    pub service: Box<str>,
}

/// Something that slices may have to follow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// A pod changed, came or went.
    Pod(ObjectName),
    /// A slice of ours did.
    Slice(ObjectName),
    /// What pools there are, and of which Services, may be otherwise.
    Pools,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Slices {
    slices: BTreeMap<ObjectName, SliceRecord>,
    services: BTreeMap<ObjectName, ServiceRecord>,
    /// In which slices of ours a pod is, and how it stands there.
    of_pod: BTreeMap<Uid, BTreeMap<ObjectName, Gate>>,
    slice_watch: Listing<SliceRecord>,
    service_watch: Listing<ServiceRecord>,
    in_slices: InSlices,
    touched: BTreeSet<Touched>,
}

impl PoolName {
    /// The pool that a slice is part of, if it is ours.
    pub fn of(slice: &SliceRecord) -> Option<Self> {
        let policy = ObjectName::new(&slice.name.namespace, &slice.ours()?.policy);
        Some(Self { policy, service: slice.service.clone() })
    }

    /// Whether a slice is part of it.
    pub fn has(&self, slice: &SliceRecord) -> bool {
        let Self { policy, service } = self;
        slice.service == *service
            && slice.name.namespace == policy.namespace
            && slice.ours().is_some_and(|slice| *slice.policy == *policy.name)
    }

    /// Its Service.
    pub fn service(&self) -> ObjectName {
        ObjectName::new(&self.policy.namespace, &self.service)
    }
}

impl Slices {
    /// Takes in what the watch of the slices delivered, and says which pods may stand otherwise. Of slices of others only
    /// those pods are kept that somebody `follows`.
    pub(super) fn take_slices(
        &mut self,
        change: Change<SliceRecord>,
        follows: impl Fn(&ObjectName, &Uid) -> bool,
        now: Time,
    ) -> BTreeSet<ObjectName> {
        let Self { slice_watch, slices, .. } = self;
        let News { gone, seen } = slice_watch.take(change, || slices.keys().cloned().collect(), now);
        let mut pods: BTreeSet<ObjectName> = gone.iter().flat_map(|name| self.gone(name)).collect();
        for mut slice in seen {
            if let SliceBody::Others(ready) = &mut slice.body {
                ready.retain(|(pod, uid)| follows(&ObjectName::new(&slice.name.namespace, pod), uid));
            }
            pods.extend(self.seen(slice));
        }
        pods
    }

    pub(super) fn take_services(&mut self, change: Change<ServiceRecord>, now: Time) {
        let Self { service_watch, services, touched, .. } = self;
        let News { gone, seen } = service_watch.take(change, || services.keys().cloned().collect(), now);
        let mut is_news = false;
        for name in gone {
            is_news |= services.remove(&name).is_some();
        }
        for service in seen {
            is_news |= services.insert(service.name.clone(), service.clone()) != Some(service);
        }
        if is_news {
            touched.insert(Touched::Pools);
        }
    }

    /// A slice as it is now, unless something later is known of it; says which pods may stand otherwise.
    pub(super) fn seen(&mut self, slice: SliceRecord) -> BTreeSet<ObjectName> {
        let known = self.slices.get(&slice.name);
        if known.is_some_and(|known| slice.resource_version.is_before(&known.resource_version)) {
            return BTreeSet::new();
        }
        let name = slice.name.clone();
        let before = self.slices.insert(name.clone(), slice);
        self.compare(&name, before.as_ref())
    }

    /// A slice that is gone, in the same way.
    pub(super) fn gone(&mut self, name: &ObjectName) -> BTreeSet<ObjectName> {
        let before = self.slices.remove(name);
        self.compare(name, before.as_ref())
    }

    pub(super) fn touch(&mut self, touched: Touched) {
        self.touched.insert(touched);
    }

    /// No slice is ours.
    pub(super) fn hold_nobody(&self) -> bool {
        self.of_pod.is_empty()
    }

    pub(super) fn take_moves(&mut self) -> Vec<Move> {
        self.in_slices.take_moves()
    }

    pub(super) fn take_touched(&mut self) -> BTreeSet<Touched> {
        std::mem::take(&mut self.touched)
    }

    /// How a pod stands in the slices of a pool: the gate as all of them have it, and ready if any of them says so.
    pub(super) fn stand(&self, pod: &PodRecord, pool: &PoolName) -> (GateSeen, Readiness) {
        let gates: BTreeSet<Gate> = self.gates(&pod.uid, pool).collect();
        let ready = if gates.contains(&Gate::Open) { Readiness::Ready } else { Readiness::NotReady };
        let gate = match (gates.len(), gates.first()) {
            (1, Some(gate)) => GateSeen::Set(*gate),
            (_, Some(_) | None) => GateSeen::Unset,
        };
        // A pod that has the gate as well is let through by both, or is not as it was decided.
        let is_as_its_gate = pod.gate == GateSeen::Ungated || pod.gate == gate;
        (if is_as_its_gate { gate } else { GateSeen::Unset }, ready)
    }

    /// The gate of a pod in the slices of a pool: closed if any of them has it so; `None` if it is in none.
    pub(super) fn gate(&self, pod: &Uid, pool: &PoolName) -> Option<Gate> {
        self.gates(pod, pool).max()
    }

    pub(super) fn slice(&self, name: &ObjectName) -> Option<&SliceRecord> {
        self.slices.get(name)
    }

    pub(super) fn of_namespace(&self, namespace: &str) -> impl Iterator<Item = &SliceRecord> {
        of_namespace(&self.slices, namespace)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &SliceRecord> {
        self.slices.values()
    }

    pub(super) fn service(&self, name: &ObjectName) -> Option<&ServiceRecord> {
        self.services.get(name)
    }

    pub(super) fn slice_health(&self) -> &WatchHealth {
        self.slice_watch.health()
    }

    pub(super) fn service_health(&self) -> &WatchHealth {
        self.service_watch.health()
    }

    /// The gate of a pod in each slice of a pool that it is in.
    fn gates(&self, pod: &Uid, pool: &PoolName) -> impl Iterator<Item = Gate> {
        let of_pod = self.of_pod.get(pod).into_iter().flatten();
        let of_pool = of_pod.filter(|(name, _)| self.slices.get(*name).is_some_and(|slice| pool.has(slice)));
        of_pool.map(|(_, gate)| *gate)
    }

    /// Notes what is otherwise about a slice than before.
    fn compare(&mut self, name: &ObjectName, before: Option<&SliceRecord>) -> BTreeSet<ObjectName> {
        let Self { slices, of_pod, in_slices, touched, .. } = self;
        let now = slices.get(name);
        let is_ours = |slice: Option<&SliceRecord>| slice.is_some_and(|slice| slice.ours().is_some());
        if others_service(before) != others_service(now) {
            touched.insert(Touched::Pools);
        }
        if is_ours(before) || is_ours(now) {
            touched.insert(Touched::Slice(name.clone()));
        }
        let ready = |slice: Option<&SliceRecord>| slice.map(SliceRecord::ready_pods).unwrap_or_default();
        in_slices.replace(&name.namespace, &ready(before), &ready(now));
        let (were, are) = (stands(before), stands(now));
        for (_, uid, ..) in were.difference(&are) {
            if let Some(of) = of_pod.get_mut(*uid) {
                of.remove(name);
            }
            if of_pod.get(*uid).is_some_and(BTreeMap::is_empty) {
                of_pod.remove(*uid);
            }
        }
        for (_, uid, gate, _) in are.difference(&were) {
            of_pod.entry((*uid).clone()).or_default().insert(name.clone(), *gate);
        }
        are.symmetric_difference(&were).map(|(pod, ..)| ObjectName::new(&name.namespace, pod)).collect()
    }
}

/// The Service of a slice that others manage.
fn others_service(slice: Option<&SliceRecord>) -> Option<&str> {
    slice.filter(|slice| slice.ours().is_none()).map(|slice| &*slice.service)
}

/// How a pod stands in a slice of ours: its name, UID and gate, and the pool that the slice is part of.
type Stand<'a> = (&'a str, &'a Uid, Gate, (&'a str, &'a str));

fn stands(slice: Option<&SliceRecord>) -> BTreeSet<Stand<'_>> {
    let ours = slice.and_then(|slice| Some((slice, slice.ours()?)));
    let endpoints = ours.into_iter().flat_map(|(slice, ours)| {
        ours.endpoints.iter().map(|it| (&*it.pod, &it.uid, it.gate, (&*ours.policy, &*slice.service)))
    });
    endpoints.collect()
}
