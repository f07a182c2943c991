//! Who is there to get requests.

use std::cmp::Ordering;

/// The pods that are there, each address once, in the natural order of the pods' names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    members: Vec<Member>,
}

/// A pod's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The pod's name.
    pub pod: String,
    /// Host and port.
    pub address: String,
    /// Whether it is in the pool.
    pub ready: bool,
}

impl Fleet {
    /// The fleet of these members. An address that is told twice is ready if it is in either.
    pub fn new(mut members: Vec<Member>) -> Self {
        members.sort_by(|a, b| {
            natural(&a.pod, &b.pod).then_with(|| a.address.cmp(&b.address)).then(b.ready.cmp(&a.ready))
        });
        members.dedup_by(|later, earlier| later.address == earlier.address);
        Self { members }
    }

    /// Endpoints that are always ready and have no names but their addresses.
    pub fn fixed(addresses: Vec<String>) -> Self {
        let ready = true;
        let members = addresses.into_iter().map(|address| Member { pod: address.clone(), address, ready }).collect();
        Self { members }
    }

    /// Everybody, ready or not.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// How many are ready.
    pub fn pool_size(&self) -> usize {
        self.pool().count()
    }

    /// The ready member at a place, counted round; `None` if nobody is ready.
    pub fn pick(&self, place: u64) -> Option<&Member> {
        let size = u64::try_from(self.pool_size()).ok().filter(|size| *size > 0)?;
        self.pool().nth(usize::try_from(place % size).ok()?)
    }

    /// The pod of that name, if it is there.
    pub fn member(&self, pod: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.pod == pod)
    }

    /// Whether a pod is in the pool.
    pub fn has_ready(&self, pod: &str) -> bool {
        self.pool().any(|member| member.pod == pod)
    }

    fn pool(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.ready)
    }
}

/// `web-2` before `web-10`.
fn natural(a: &str, b: &str) -> Ordering {
    let (stem_a, number_a) = numbered(a);
    let (stem_b, number_b) = numbered(b);
    stem_a.cmp(stem_b).then(number_a.cmp(&number_b)).then_with(|| a.cmp(b))
}

fn numbered(name: &str) -> (&str, Option<u64>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem, name[stem.len()..].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(pod: &str, address: &str, ready: bool) -> Member {
        Member { pod: pod.into(), address: address.into(), ready }
    }

    #[test]
    fn requests_go_round_the_ready_members_in_natural_order() {
        let fleet = Fleet::new(vec![
            member("app-10", "d", true),
            member("app-1", "b", false),
            member("app-2", "c", true),
            member("app-0", "a", true),
        ]);
        let picked: Vec<_> = (0..4).filter_map(|n| fleet.pick(n)).map(|member| member.pod.as_str()).collect();
        assert_eq!(picked, ["app-0", "app-2", "app-10", "app-0"]);
    }

    #[test]
    fn an_empty_pool_has_nobody_to_pick() {
        assert_eq!(Fleet::new(vec![member("app-0", "a", false)]).pick(3), None);
    }

    #[test]
    fn an_address_in_two_slices_gets_its_share_once() {
        let fleet = Fleet::new(vec![member("app-0", "a", false), member("app-0", "a", true)]);
        assert_eq!(fleet.members(), [member("app-0", "a", true)]);
    }
}
