//! One pool: how each of its slices should be, and which are not so yet.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use super::endpoint;
use super::placement::Placement;
use super::premise::{Keeper, Premise, Unusable, others_slice};
use super::write::{Order, SliceWrite};
use crate::api::fnv1a;
use crate::cluster::records::{EndpointRecord, Group, ObjectName, OurSlice, PodRecord, SliceRecord, Uid};
use crate::cluster::{Index, PoolName};
use crate::engine::Gate;

/// How many endpoints a slice holds at most, as with the cluster's own controller. The API allows 1000, but a slice is
/// written, and sent to every node, whole.
const ENDPOINTS: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// What was decided of pods, by name.
pub(super) type Verdicts = BTreeMap<ObjectName, (Uid, Gate)>;

/// The slices of one pool.
#[derive(Debug)]
pub(super) struct Pool {
    name: PoolName,
    premise: Premise,
    placements: BTreeMap<Group, Placement<ObjectName, Uid>>,
    /// What the endpoints of each slice have in common.
    sheets: BTreeMap<ObjectName, Group>,
    endpoints: BTreeMap<Uid, BTreeMap<Group, EndpointRecord>>,
    pods: BTreeMap<ObjectName, Uid>,
    /// Slices that may be otherwise than they should.
    dirty: BTreeSet<ObjectName>,
    /// Slices that are no longer needed.
    retired: BTreeSet<ObjectName>,
}

impl Pool {
    /// The pool on this premise: whoever is in a slice that is there stays in it.
    pub(super) fn new(index: &Index, name: PoolName, premise: Premise, verdicts: &Verdicts) -> Self {
        let mut pool = Self {
            name,
            premise,
            placements: BTreeMap::new(),
            sheets: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            pods: BTreeMap::new(),
            dirty: BTreeSet::new(),
            retired: BTreeSet::new(),
        };
        for (pod, endpoints) in pool.members(index, verdicts) {
            pool.pods.insert(pod.name.clone(), pod.uid.clone());
            pool.endpoints.insert(pod.uid.clone(), endpoints);
        }
        let name = pool.name.clone();
        for (slice, ours) in of_pool(index, &name) {
            pool.adopt(slice, ours);
        }
        let all: Vec<_> =
            pool.endpoints.iter().flat_map(|(uid, of)| of.keys().map(|group| (group.clone(), uid.clone()))).collect();
        for (group, uid) in all {
            pool.put(index, group, uid);
        }
        for placement in pool.placements.values_mut() {
            placement.pack();
        }
        pool.retire();
        pool.dirty = pool.sheets.keys().cloned().collect();
        pool
    }

    pub(super) fn premise(&self) -> &Premise {
        &self.premise
    }

    pub(super) fn namespace(&self) -> &str {
        &self.name.policy.namespace
    }

    /// Takes in how a pod is now, and what was decided of it.
    pub(super) fn follow_pod(&mut self, index: &Index, name: &ObjectName, verdicts: &Verdicts) {
        let pod = index.pod_named(name).filter(|(keeper, pod)| match self.premise.keeper {
            Keeper::Policy(policy) => *keeper == Some(policy),
            Keeper::Nobody | Keeper::Released => self.endpoints.contains_key(&pod.uid),
        });
        let now = pod.map(|(_, pod)| pod);
        let gone = self.pods.get(name).filter(|uid| now.is_none_or(|pod| pod.uid != **uid)).cloned();
        if let Some(gone) = gone {
            self.pods.remove(name);
            self.place(index, gone, BTreeMap::new());
        }
        if let Some(pod) = now {
            self.pods.insert(name.clone(), pod.uid.clone());
            let endpoints = self.wanted(index, pod, verdicts);
            self.place(index, pod.uid.clone(), endpoints);
        }
    }

    /// Takes in that a slice is otherwise than before. One of this pool that it did not know of is found out about by
    /// beginning anew.
    pub(super) fn follow_slice(&mut self, index: &Index, name: &ObjectName) -> Known {
        let is_of_pool = index.slice(name).map(|slice| self.name.has(slice));
        match (self.sheets.contains_key(name), is_of_pool) {
            (true, Some(true) | None) => drop(self.dirty.insert(name.clone())),
            (false, Some(true)) if self.retired.contains(name) => {}
            (true, Some(false)) | (false, Some(true)) => return Known::No,
            (false, Some(false) | None) => {}
        }
        Known::Yes
    }

    /// What is to be done, of what may be done now. Nobody's old slice goes before the new one says the same.
    pub(super) fn orders(&mut self, index: &Index, may: impl Fn(&ObjectName) -> bool) -> Vec<Order> {
        let service = match &self.premise.service {
            Ok(service) => (self.name.service.clone(), service.uid.clone()),
            Err(unusable) => return self.withdraw(index, unusable, may),
        };
        let mut orders = Vec::new();
        for slice in std::mem::take(&mut self.dirty) {
            let Some(group) = self.sheets.get(&slice).filter(|_| !self.is_in_line(index, &slice)) else { continue };
            if may(&slice) {
                orders.push(Order::Write(SliceWrite {
                    uid: index.slice(&slice).map(|known| known.uid.clone()),
                    policy: self.name.policy.name.clone(),
                    service: service.clone(),
                    group: group.clone(),
                    endpoints: self.members_of(group, &slice),
                    slice: slice.clone(),
                }));
            }
            self.dirty.insert(slice);
        }
        self.retired.retain(|slice| index.slice(slice).is_some());
        orders.extend(self.retired.iter().filter_map(|name| {
            let slice = index.slice(name)?;
            let moved = slice.ours()?.endpoints.iter().all(|endpoint| self.is_placed(index, &endpoint.uid));
            (moved && may(name)).then(|| Order::Delete { slice: name.clone(), uid: slice.uid.clone() })
        }));
        orders
    }

    /// Every slice shows a pod as it was decided; also one that has no place in any.
    pub(super) fn shows(&self, index: &Index, pod: &Uid) -> bool {
        let wanted = self.endpoints.get(pod).and_then(|of| of.values().next()).map(|endpoint| endpoint.gate);
        self.is_placed(index, pod) && wanted.is_none_or(|gate| index.gate_in_slices(pod, &self.name) == Some(gate))
    }

    /// Whether a slice is to show a pod.
    pub(super) fn holds(&self, slice: &ObjectName, pod: &Uid) -> bool {
        self.slices_of(pod).any(|holder| holder == slice)
    }

    /// The slices that are to show a pod.
    pub(super) fn slices_of(&self, pod: &Uid) -> impl Iterator<Item = &ObjectName> {
        let groups = self.endpoints.get(pod).into_iter().flat_map(BTreeMap::keys);
        groups.filter_map(|group| self.placements.get(group)?.slice_of(pod))
    }

    /// A Service that got a selector has the cluster's own slices: once they are there, ours are in their way.
    fn withdraw(&self, index: &Index, unusable: &Unusable, may: impl Fn(&ObjectName) -> bool) -> Vec<Order> {
        let is_replaced = matches!(unusable, Unusable::Selector(_)) && others_slice(index, &self.name).is_some();
        let slices = of_pool(index, &self.name).filter(|(slice, _)| is_replaced && may(&slice.name));
        slices.map(|(slice, _)| Order::Delete { slice: slice.name.clone(), uid: slice.uid.clone() }).collect()
    }

    fn members<'a>(
        &self,
        index: &'a Index,
        verdicts: &Verdicts,
    ) -> Vec<(&'a PodRecord, BTreeMap<Group, EndpointRecord>)> {
        let pods: Vec<&PodRecord> = match self.premise.keeper {
            Keeper::Policy(policy) => {
                let pods = index.pods_in(&self.name.policy.namespace);
                pods.filter(|(keeper, _)| *keeper == Some(policy)).map(|(_, pod)| pod).collect()
            }
            Keeper::Nobody | Keeper::Released => {
                let listed: BTreeSet<_> = of_pool(index, &self.name)
                    .flat_map(|(_, ours)| &ours.endpoints)
                    .map(|it| (&it.pod, &it.uid))
                    .collect();
                let pod = |pod: &str| index.pod_named(&ObjectName::new(&self.name.policy.namespace, pod));
                listed.into_iter().filter_map(|(name, uid)| Some(pod(name)?.1).filter(|pod| pod.uid == *uid)).collect()
            }
        };
        pods.into_iter().map(|pod| (pod, self.wanted(index, pod, verdicts))).collect()
    }

    /// A pod's endpoints, as they should be; none as long as nothing was decided of it.
    fn wanted(&self, index: &Index, pod: &PodRecord, verdicts: &Verdicts) -> BTreeMap<Group, EndpointRecord> {
        let Ok(service) = &self.premise.service else { return BTreeMap::new() };
        let as_it_stands = || index.gate_in_slices(&pod.uid, &self.name);
        let gate = match self.premise.keeper {
            Keeper::Policy(_) => {
                let decided = verdicts.get(&pod.name).filter(|(uid, _)| *uid == pod.uid);
                decided.map(|(_, gate)| *gate).or_else(as_it_stands)
            }
            Keeper::Nobody | Keeper::Released if self.is_taken_over(index, pod) => None,
            Keeper::Nobody => as_it_stands(),
            Keeper::Released => Some(Gate::Open),
        };
        let Some(gate) = gate else { return BTreeMap::new() };
        let addresses = endpoint::addresses(pod, service).into_iter();
        addresses.map(|(group, address)| (group, endpoint::endpoint(index, pod, address, gate))).collect()
    }

    /// The slices of another pool of the same Service show the pod.
    fn is_taken_over(&self, index: &Index, pod: &PodRecord) -> bool {
        let keeper = index.pod_named(&pod.name).and_then(|(keeper, _)| keeper);
        let pool = keeper.and_then(|keeper| index.pool(keeper)).filter(|pool| pool.service == self.name.service);
        pool.is_some_and(|pool| index.gate_in_slices(&pod.uid, &pool).is_some())
    }

    fn adopt(&mut self, slice: &SliceRecord, ours: &OurSlice) {
        let fits = |uid: &&Uid| self.endpoints.get(*uid).is_some_and(|of| of.contains_key(&ours.group));
        let found: Vec<Uid> = ours.endpoints.iter().map(|it| &it.uid).filter(fits).cloned().collect();
        let placement = self.placements.entry(ours.group.clone()).or_insert_with(|| Placement::new(ENDPOINTS));
        placement.adopt(&slice.name, found);
        self.sheets.insert(slice.name.clone(), ours.group.clone());
    }

    fn place(&mut self, index: &Index, pod: Uid, endpoints: BTreeMap<Group, EndpointRecord>) {
        let before = self.endpoints.remove(&pod).unwrap_or_default();
        if !endpoints.is_empty() {
            self.endpoints.insert(pod.clone(), endpoints.clone());
        }
        for group in before.keys().filter(|group| !endpoints.contains_key(group)) {
            let changed = self.placements.get_mut(group).map(|placement| placement.remove(&pod));
            self.dirty.extend(changed.into_iter().flatten());
        }
        for (group, endpoint) in endpoints {
            if before.get(&group) != Some(&endpoint) {
                self.put(index, group, pod.clone());
            }
        }
        self.retire();
    }

    fn put(&mut self, index: &Index, group: Group, pod: Uid) {
        let fresh = fresh(index, &self.name, &self.sheets, &self.retired);
        let placement = self.placements.entry(group.clone()).or_insert_with(|| Placement::new(ENDPOINTS));
        let slice = placement.put(pod, fresh);
        self.sheets.insert(slice.clone(), group);
        self.dirty.insert(slice);
    }

    /// Slices that hold nobody any more are not needed.
    fn retire(&mut self) {
        let Self { placements, sheets, dirty, retired, .. } = self;
        sheets.retain(|slice, group| {
            let is_needed = placements.get(group).is_some_and(|placement| placement.has(slice));
            if !is_needed {
                dirty.remove(slice);
                retired.insert(slice.clone());
            }
            is_needed
        });
    }

    fn members_of(&self, group: &Group, slice: &ObjectName) -> Vec<EndpointRecord> {
        let members = self.placements.get(group).into_iter().flat_map(|placement| placement.members(slice));
        members.filter_map(|uid| self.endpoints.get(uid)?.get(group)).cloned().collect()
    }

    /// A slice is as it should be.
    fn is_in_line(&self, index: &Index, slice: &ObjectName) -> bool {
        let (Some(group), Some(ours)) = (self.sheets.get(slice), index.slice(slice).and_then(SliceRecord::ours)) else {
            return false;
        };
        let mut listed: Vec<_> = ours.endpoints.iter().collect();
        listed.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        *ours.policy == *self.name.policy.name
            && ours.group == *group
            && listed.into_iter().eq(&self.members_of(group, slice))
    }

    /// A pod is in those slices where it should be, as it should be.
    fn is_placed(&self, index: &Index, pod: &Uid) -> bool {
        let is_listed = |slice: &ObjectName| {
            let ours = index.slice(slice).and_then(SliceRecord::ours);
            ours.is_some_and(|ours| {
                let wanted = self.endpoints.get(pod).and_then(|of| of.get(&ours.group));
                wanted.is_some() && ours.endpoints.iter().find(|endpoint| endpoint.uid == *pod) == wanted
            })
        };
        self.slices_of(pod).all(is_listed)
    }
}

/// Whether a pool knows a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    No,
}

fn of_pool<'a>(index: &'a Index, pool: &'a PoolName) -> impl Iterator<Item = (&'a SliceRecord, &'a OurSlice)> {
    let slices = index.slices_in(&pool.policy.namespace);
    slices.filter(|slice| pool.has(slice)).filter_map(|slice| Some((slice, slice.ours()?)))
}

/// A name that no slice has: made of the pool's name, so that two pools hardly ever want the same.
fn fresh<'a>(
    index: &'a Index,
    PoolName { policy, service }: &'a PoolName,
    sheets: &'a BTreeMap<ObjectName, Group>,
    retired: &'a BTreeSet<ObjectName>,
) -> impl FnOnce() -> ObjectName + use<'a> {
    let name = move |n: u32| {
        let hash = fnv1a(&format!("{policy} {n}")) >> 24;
        ObjectName::new(&policy.namespace, &format!("{service}-{hash:010x}"))
    };
    let is_free =
        |name: &ObjectName| index.slice(name).is_none() && !sheets.contains_key(name) && !retired.contains(name);
    move || (0..=u32::MAX).map(name).find(is_free).unwrap_or_else(|| name(0))
}
