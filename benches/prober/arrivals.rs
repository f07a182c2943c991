//! When attempts arrive, as the targets see it.

use probe_policy::engine::{Span, Time};

use super::Task;

/// How long a slot is in which arrivals are counted, to see whether they come in bursts.
const SLOT: Span = Span::from_millis(100);

/// Notes the arrivals at every target.
pub struct Book {
    period: Span,
    begin: Time,
    arrived: u64,
    last: Vec<Option<Time>>,
    intervals: Vec<Span>,
    slots: Vec<u32>,
}

/// What a stretch of arrivals comes to. On a pipe it is one line of numbers.
#[derive(Clone, Copy)]
pub struct Summary {
    /// How many.
    pub arrived: u64,
    /// For how long they were counted.
    pub seconds: f64,
    /// The 99th percentile of how far an interval is from the period.
    pub p99_ms: f64,
    /// By how much the mean interval is longer than the period, in per cent.
    pub drift: f64,
    /// Intervals that took more than one and a half periods.
    pub missed: u64,
    /// The variance of the arrivals in 100 ms, by their mean: 1 if they are random.
    pub burst: f64,
}

impl Book {
    pub fn new(task: Task, now: Time) -> Self {
        Self {
            period: Span::from_millis(task.period_ms),
            begin: now,
            arrived: 0,
            last: vec![None; task.targets as usize],
            intervals: Vec::new(),
            slots: Vec::new(),
        }
    }

    pub fn note(&mut self, target: usize, now: Time) {
        self.arrived += 1;
        if let Some(before) = self.last.get_mut(target).and_then(|last| last.replace(now)) {
            self.intervals.push(now.since(before));
        }
        let slot = (now.since(self.begin).as_nanos() / SLOT.as_nanos()) as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, 0);
        }
        self.slots[slot] += 1;
    }

    /// What has come since the last summary. Intervals do not reach from one to the next.
    pub fn sum_up(&mut self, now: Time) -> Summary {
        let period = self.period.as_nanos() as f64;
        let mut errors: Vec<f64> = self.intervals.iter().map(|it| (it.as_nanos() as f64 - period).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let intervals = errors.len().max(1) as f64;
        let mean = self.intervals.iter().map(|it| it.as_nanos() as f64).sum::<f64>() / intervals;
        let whole_slots = &self.slots[..self.slots.len().saturating_sub(1)];
        let count = whole_slots.len().max(1) as f64;
        let in_slot = whole_slots.iter().map(|it| f64::from(*it)).sum::<f64>() / count;
        let variance = whole_slots.iter().map(|it| (f64::from(*it) - in_slot).powi(2)).sum::<f64>() / count;
        let summary = Summary {
            arrived: self.arrived,
            seconds: now.since(self.begin).as_secs_f64(),
            p99_ms: errors.get(errors.len() * 99 / 100).map_or(0.0, |error| error / 1e6),
            drift: 100.0 * (mean / period - 1.0),
            missed: self.intervals.iter().filter(|it| it.as_nanos() as f64 > 1.5 * period).count() as u64,
            burst: variance / in_slot.max(f64::MIN_POSITIVE),
        };
        (self.begin, self.arrived) = (now, 0);
        self.last.fill(None);
        self.intervals.clear();
        self.slots.clear();
        summary
    }
}

impl Summary {
    pub fn line(self) -> String {
        let Self { arrived, seconds, p99_ms, drift, missed, burst } = self;
        format!("{arrived} {seconds} {p99_ms} {drift} {missed} {burst}")
    }

    /// Reads a [line](Self::line).
    pub fn read(line: &str) -> Option<Self> {
        let numbers: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let [arrived, seconds, p99_ms, drift, missed, burst] = numbers[..] else { return None };
        Some(Self { arrived: arrived as u64, seconds, p99_ms, drift, missed: missed as u64, burst })
    }
}
