//! The Pareto front of detection against needless restarts: the policies than which none is better in one of the two
//! without being worse in the other.

use crate::tools::outcome::Outcome;

/// Which of these are on the front.
pub fn front<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Vec<bool> {
    on_front(
        &outcomes.into_iter().map(|outcome| (outcome.detection(), outcome.figures.unnecessary)).collect::<Vec<_>>(),
    )
}

/// In detection as [`Outcome::detection`] puts it, and needless restarts.
type Costs = ((u64, f64), usize);

fn on_front(costs: &[Costs]) -> Vec<bool> {
    let mut order: Vec<_> = (0..costs.len()).collect();
    order.sort_by(|a, b| {
        let (((undetected, turns), needless), ((others, other_turns), other)) = (costs[*a], costs[*b]);
        undetected.cmp(&others).then(turns.total_cmp(&other_turns)).then(needless.cmp(&other))
    });
    let mut on_front = vec![false; costs.len()];
    let mut latest: Option<Costs> = None;
    for place in order {
        let (_, needless) = costs[place];
        if latest.is_none_or(|(_, fewest)| needless < fewest) {
            latest = Some(costs[place]);
        }
        on_front[place] = latest == Some(costs[place]);
    }
    on_front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_on_the_front_unless_another_beats_it() {
        for (costs, expected) in [
            (&[][..], &[][..]),
            (&[((1, f64::INFINITY), 0)], &[true]),
            (&[((0, 5.0), 0), ((1, 2.0), 0)], &[true, false]),
            (&[((0, 2.0), 3), ((0, 4.0), 1), ((0, 4.0), 2), ((0, 9.0), 1)], &[true, true, false, false]),
            (&[((0, 9.0), 0), ((0, 2.0), 3), ((0, 2.0), 3), ((0, 3.0), 3)], &[true, true, true, false]),
        ] {
            assert_eq!(on_front(costs), expected, "{costs:?}");
        }
    }
}
