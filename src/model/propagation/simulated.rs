//! Devices run over all phases.
//!
//! All phases are the multiples of the greatest length that divides both periods, each with both [edges](Edge).
//! Between two of them nothing happens but that a delay grows with its phase, so the ends of these pieces hold worst
//! and mean.

use super::{
    Check, Connections, Delay, Delays, Device, Edge, Health, Leftover, Move, Phases, Pool, Profile, Standing, Timeline,
};
use crate::engine::{Span, Time};

/// The delays of a move.
pub fn delays(check: Check, profile: Profile, to: Move) -> Delays {
    let trials: Vec<_> = devices_of_all_phases(check, profile).map(|device| Trial::of(device, to)).collect();
    let over_all = |delay: fn(&Trial) -> Option<Span>| over(trials.iter().filter_map(delay));
    Delays {
        to_decision: over_all(Trial::until_decided).unwrap_or_default(),
        from_decision: over_all(Trial::decided_until_read),
        to_traffic: over_all(Trial::until_read),
    }
}

/// How long a good replica gets no traffic after its profile was assigned or changed; `None` if that reaches no traffic.
pub fn preparing(check: Check, profile: Profile) -> Option<Delay> {
    over(devices_of_all_phases(check, profile).filter_map(|device| Trial::preparing(device).until_read()))
}

/// How long each of so many good replicas gets no traffic then, if the device spreads its checks of them evenly.
pub fn preparing_fleet(check: Check, profile: Profile, replicas: u32) -> Vec<Span> {
    (0..replicas)
        .filter_map(|replica| {
            let phases = Phases { check: share(check.period(), replica, replicas), reads: Span::ZERO };
            Trial::preparing(Device { check, profile, phases, edge: Edge::Caught }).until_read()
        })
        .collect()
}

/// The longest that two devices may differ after a fault, or its end; `None` if it never reaches the traffic.
pub fn disagreement(check: Check, profile: Profile, to: Move) -> Option<Span> {
    let mut trials: Vec<_> = devices_of_all_phases(check, profile).map(|device| Trial::of(device, to)).collect();
    trials.sort_by_key(Trial::until_read);
    longest_disagreement(&[trials.first()?, trials.last()?])
}

/// For how long so many devices differ then, if their phases are spread evenly.
pub fn disagreement_of_spread(check: Check, profile: Profile, to: Move, devices: u32) -> Option<Span> {
    let reads = profile.reads()?;
    let trials: Vec<_> = (0..devices)
        .map(|device| Phases {
            check: share(check.period(), device, devices),
            reads: share(reads.every(), device, devices),
        })
        .map(|phases| Trial::of(Device { check, profile, phases, edge: Edge::Caught }, to))
        .collect();
    longest_disagreement(&trials.iter().collect::<Vec<_>>())
}

/// What the latest ejection leaves open, over all phases, with times that count from the fault; `None` if there is none.
pub fn latest_leftover(check: Check, profile: Profile, connections: Connections) -> Option<Leftover> {
    let trials = devices_of_all_phases(check, profile);
    let latest =
        trials.map(|device| Trial::after(connections.last, device, Move::Eject)).max_by_key(Trial::until_read)?;
    let left = connections.left_by(&latest.pool)?;
    let since_fault = |time: Time| Time::ZERO + time.since(latest.happened);
    Some(Leftover { ejected: since_fault(left.ejected), last_ends: since_fault(left.last_ends), ..left })
}

/// What one device makes of one thing that happens to a replica.
struct Trial {
    happened: Time,
    standing: Timeline<Standing>,
    pool: Timeline<Pool>,
    until: Time,
}

impl Trial {
    /// A replica in the pool becomes bad, or a bad one out of it becomes good.
    fn of(device: Device, to: Move) -> Self {
        Self::after(Span::ZERO, device, to)
    }

    /// The same after a quiet time of at least `quiet`.
    fn after(quiet: Span, device: Device, to: Move) -> Self {
        let (first, before, after) = match to {
            Move::Eject => (Standing::Passing, Health::Good, Health::Bad),
            Move::Admit => (Standing::Failing, Health::Bad, Health::Good),
        };
        let happened = Self::happens(quiet, device);
        let health = Timeline::new(before).then(happened, after);
        Self::run(device, first, &health, &[], happened)
    }

    /// The profile of a good replica in the pool is changed.
    fn preparing(device: Device) -> Self {
        let happened = Self::happens(Span::ZERO, device);
        Self::run(device, Standing::Passing, &Timeline::new(Health::Good), &[happened], happened)
    }

    fn run(device: Device, first: Standing, health: &Timeline<Health>, assigned: &[Time], happened: Time) -> Self {
        let checks = Move::BOTH.map(|to| device.check.needed(to)).into_iter().max().unwrap_or_default();
        let reads = device.profile.reads().map_or(Span::ZERO, |reads| reads.every() + reads.again(Move::Eject));
        let until = happened + device.check.period() * (u64::from(checks) + 1) + reads * 2;
        let pool = if first == Standing::Passing { Pool::In } else { Pool::Out };
        let standing = device.judge(first, health, assigned, until);
        let pool = device.forward(pool, &standing, until);
        Self { happened, standing, pool, until }
    }

    /// When every device has checked and read before, at a multiple of both periods' greatest divisor.
    fn happens(quiet: Span, device: Device) -> Time {
        let round = device.check.period() * 2 + device.profile.reads().map_or(Span::ZERO, |reads| reads.every() * 2);
        Time::ZERO + round * (1 + quiet.as_nanos() / round.as_nanos())
    }

    fn until_decided(&self) -> Option<Span> {
        Some(self.standing.transitions().last()?.0.since(self.happened))
    }

    fn until_read(&self) -> Option<Span> {
        Some(self.pool.transitions().last()?.0.since(self.happened))
    }

    fn decided_until_read(&self) -> Option<Span> {
        Some(self.pool.transitions().last()?.0.since(self.standing.transitions().last()?.0))
    }
}

fn longest_disagreement(trials: &[&Trial]) -> Option<Span> {
    let until = trials.iter().find(|trial| trial.until_read().is_some())?.until;
    let pools: Vec<_> = trials.iter().map(|trial| &trial.pool).collect();
    Some(Timeline::longest_disagreement(&pools, until))
}

fn devices_of_all_phases(check: Check, profile: Profile) -> impl Iterator<Item = Device> {
    let (period, every) = (check.period().as_nanos(), profile.reads().map(|reads| reads.every().as_nanos()));
    let step = greatest_divisor(period, every.unwrap_or(period));
    let phases = move |period: u64| (0..period / step).map(move |n| Span::from_nanos(n * step));
    phases(period).flat_map(move |check_phase| {
        phases(every.unwrap_or(step)).flat_map(move |reads| {
            let phases = Phases { check: check_phase, reads };
            Edge::BOTH.map(|edge| Device { check, profile, phases, edge })
        })
    })
}

fn share(period: Span, part: u32, parts: u32) -> Span {
    Span::from_nanos(period.as_nanos() / u64::from(parts) * u64::from(part))
}

fn over(delays: impl Iterator<Item = Span>) -> Option<Delay> {
    let (mut worst, mut sum, mut count) = (Span::ZERO, 0, 0);
    for delay in delays {
        worst = worst.max(delay);
        sum += u128::from(delay.as_nanos());
        count += 1;
    }
    let mean = u64::try_from(sum.checked_div(count)?).unwrap_or(u64::MAX);
    Some(Delay { worst, mean: Span::from_nanos(mean) })
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
