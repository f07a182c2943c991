//! How soon a fault is found, and what that costs in decisions about blips: the engine beside the schedules of the
//! kubelet and of HAProxy, in simulated time. Nothing here passes or fails.
//!
//! ```text
//! cargo bench --bench detection
//! ```
//!
//! Every scheme asks once in 10 s, takes three failures for a fault and waits 1 s for an answer. A fault, or a blip, begins
//! anywhere in the period; the length of a blip is exponential. While it lasts, an attempt is answered with an error at
//! once, or not at all until it is over. The seed is fixed, and every scheme meets the same faults.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]

mod ours;
mod peers;
#[path = "../warm/mod.rs"]
mod warm;

use probe_policy::engine::{Span, Time};

const PERIOD: Span = Span::from_secs(10);
const TIMEOUT: Span = Span::from_secs(1);
const THRESHOLD: u32 = 3;

/// Faults and blips that each scheme meets, of either kind.
const FAULTS: u32 = 5_000;
const SEED: u64 = 1;

/// When the replica is well again does not matter to a fault that is to be found.
const FOR_EVER: Span = Span::from_secs(3_600);

/// What a replica does while it is faulty.
#[derive(Clone, Copy)]
enum Kind {
    /// It answers with an error, at once.
    Error,
    /// It does not answer until it is well.
    Hang,
}

/// A replica is faulty for a while.
#[derive(Clone, Copy)]
struct Fault {
    kind: Kind,
    from: Time,
    until: Time,
}

/// What an attempt comes to, and when that is known.
struct Answer {
    passes: bool,
    at: Time,
}

/// Takes a phase of the period and a fault; says when it is decided that the replica fails, if it is.
type Decide = Box<dyn Fn(Span, Fault) -> Option<Time>>;

fn main() {
    println!("seconds from fault to decision: mean and maximum; decisions on 1000 blips of 1 s and of 5 s on average");
    println!("{:28} {:>13} {:>13} {:>14} {:>14}", "scheme", "error", "hang", "blips: error", "blips: hang");
    for (name, decide) in schemes() {
        let [error, hang] = [Kind::Error, Kind::Hang].map(|kind| (detection(&decide, kind), blips(&decide, kind)));
        let times = |(mean, max): (f64, f64)| format!("{mean:.1} {max:.1}");
        let counts = |[one, five]: [f64; 2]| format!("{one:.2} {five:.1}");
        let [first, second, third, fourth] = [times(error.0), times(hang.0), counts(error.1), counts(hang.1)];
        println!("{name:28} {first:>13} {second:>13} {third:>14} {fourth:>14}");
    }
}

fn schemes() -> Vec<(String, Decide)> {
    let mut schemes: Vec<(String, Decide)> = vec![
        ("kubelet".to_owned(), Box::new(peers::kubelet)),
        ("ours, no fastPeriod".to_owned(), Box::new(|phase, fault| ours::decide(None, phase, fault))),
    ];
    for millis in [2_500, 1_000, 200] {
        let fast = Span::from_millis(millis);
        schemes.push((
            format!("HAProxy, fastinter {fast}"),
            Box::new(move |phase, fault| peers::haproxy(fast, phase, fault)),
        ));
        schemes.push((
            format!("ours, fastPeriod {fast}"),
            Box::new(move |phase, fault| ours::decide(Some(fast), phase, fault)),
        ));
    }
    schemes
}

fn detection(decide: &Decide, kind: Kind) -> (f64, f64) {
    let mut random = Random(SEED);
    let times = (0..FAULTS).map(|_| {
        let (phase, fault) = random.fault(kind, |_| FOR_EVER);
        decide(phase, fault).unwrap().since(fault.from).as_secs_f64()
    });
    let times: Vec<f64> = times.collect();
    (times.iter().sum::<f64>() / times.len() as f64, times.iter().copied().fold(0.0, f64::max))
}

/// Decisions on a thousand blips, for either mean length.
fn blips(decide: &Decide, kind: Kind) -> [f64; 2] {
    [1.0, 5.0].map(|mean| {
        let mut random = Random(SEED);
        let decided = (0..FAULTS).filter(|_| {
            let (phase, blip) = random.fault(kind, |random| {
                let length = -mean * random.unit().ln();
                Span::from_nanos((length * 1e9) as u64)
            });
            decide(phase, blip).is_some()
        });
        decided.count() as f64 * 1_000.0 / f64::from(FAULTS)
    })
}

impl Fault {
    /// What an attempt that begins then comes to.
    fn answer(self, begun: Time) -> Answer {
        let is_hit = self.from <= begun && begun < self.until;
        match self.kind {
            _ if !is_hit => Answer { passes: true, at: begun },
            Kind::Error => Answer { passes: false, at: begun },
            Kind::Hang if self.until < begun + TIMEOUT => Answer { passes: true, at: self.until },
            Kind::Hang => Answer { passes: false, at: begun + TIMEOUT },
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above zero, at most one.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A phase of the period, and a fault that begins in the second minute.
    fn fault(&mut self, kind: Kind, length: impl Fn(&mut Self) -> Span) -> (Span, Fault) {
        let nanos = |share: f64| Span::from_nanos((PERIOD.as_nanos() as f64 * share) as u64);
        let phase = nanos(self.unit());
        let from = Time::ZERO + Span::from_secs(60) + nanos(self.unit());
        (phase, Fault { kind, from, until: from + length(self) })
    }
}
