//! A turn's requests, counted in closed form.

use crate::scenario::TrueState;

/// What a turn's requests came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) errors: u32,
    pub(super) early_errors: u32,
}

/// Sends `requests` round-robin over the pool, the first to its first member. A member that is not healthy fails its
/// share; an empty pool fails all.
pub(super) fn send(requests: u32, pool: &[TrueState]) -> Traffic {
    let mut traffic = Traffic::default();
    let Some(size) = u32::try_from(pool.len()).ok().filter(|size| *size > 0) else {
        return Traffic { errors: requests, ..traffic };
    };
    let (each, left_over) = (requests / size, requests % size);
    for (member, state) in (0..size).zip(pool) {
        let share = each + u32::from(member < left_over);
        match state {
            TrueState::Healthy => {}
            TrueState::Starting => {
                traffic.errors += share;
                traffic.early_errors += share;
            }
            TrueState::Stuck
            | TrueState::Stopped
            | TrueState::Silent
            | TrueState::Warming
            | TrueState::DependencyLost
            | TrueState::HalfDown => traffic.errors += share,
        }
    }
    traffic
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_closed_form_counts_what_request_by_request_counts(
            requests in 0u32..200,
            pool in prop::collection::vec(prop::sample::select(TrueState::ALL.to_vec()), 0..12),
        ) {
            let mut one_by_one = Traffic::default();
            for request in 0..requests as usize {
                let state = (!pool.is_empty()).then(|| pool[request % pool.len()]);
                one_by_one.errors += u32::from(state != Some(TrueState::Healthy));
                one_by_one.early_errors += u32::from(state == Some(TrueState::Starting));
            }
            prop_assert_eq!(send(requests, &pool), one_by_one);
        }
    }
}
