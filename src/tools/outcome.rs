//! What came of a policy in a world: the lesson's figures, and those that other scenarios are about.

use serde::{Serialize, Serializer};

use crate::engine::RuleKind;
use crate::local::{self, Counts};
use crate::model::{self, Traffic};
use crate::report::{COLUMNS, Cell, Figures, minus};
use crate::scenario::{RequestKind, Scenario};

/// Everything that is counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The lesson's figures.
    #[serde(flatten)]
    pub figures: Figures,
    #[serde(flatten)]
    more: More,
}

/// By how much one outcome differs from another, by all columns.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeDifference(Vec<Cell>);

/// Which columns people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Those that say something of a scenario with plain requests only.
    Plain,
    /// All of them.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct More {
    /// Stuck replicas that no restart healed.
    undetected: u64,
    ejections: u64,
    attempts: u64,
    /// Replica-turns.
    out_of_pool: u64,
    dropped_reads: u64,
    dropped_writes: u64,
    dropped_batch_jobs: u64,
    silent_losses: u64,
    vain_rejections: u64,
}

/// The names of the further columns; those for plain requests come first.
const MORE: [&str; 9] = [
    "undetected",
    "ejections",
    "attempts",
    "out_of_pool",
    "dropped_reads",
    "dropped_writes",
    "dropped_batch_jobs",
    "silent_losses",
    "vain_rejections",
];

impl Outcome {
    /// The turns that the slowest detection took, after how many were never detected; the worst are the greatest.
    pub fn detection(&self) -> (u64, f64) {
        let slowest = self.figures.detection.iter().copied().reduce(f64::max);
        (self.more.undetected, slowest.unwrap_or(f64::INFINITY))
    }

    /// By how much this differs from another.
    pub fn minus(&self, other: &Self) -> OutcomeDifference {
        OutcomeDifference(minus(&self.all(), &other.all()))
    }

    /// The figures as they are printed.
    pub fn cells(&self, columns: Columns) -> impl Iterator<Item = String> {
        columns.printed(self.all())
    }

    fn all(&self) -> Vec<Cell> {
        self.figures.columns().into_iter().chain(self.more.counts().map(Cell::Count)).collect()
    }
}

impl OutcomeDifference {
    /// The differences as they are printed.
    pub fn cells(&self, columns: Columns) -> impl Iterator<Item = String> {
        columns.printed(self.0.clone())
    }
}

impl Serialize for OutcomeDifference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Columns::All.names().zip(&self.0))
    }
}

impl Columns {
    /// Those that people see of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let requests = scenario.requests(scenario.requests_from());
        let plain_only = RequestKind::ALL.into_iter().all(|kind| kind == RequestKind::Plain || requests[kind] == 0);
        if plain_only { Self::Plain } else { Self::All }
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        COLUMNS.into_iter().chain(MORE.into_iter().take(self.more()))
    }

    /// Those of all cells that people see.
    fn printed(self, all: Vec<Cell>) -> impl Iterator<Item = String> {
        all.into_iter().take(COLUMNS.len() + self.more()).map(|cell| cell.print())
    }

    const fn more(self) -> usize {
        match self {
            Self::Plain => 4,
            Self::All => MORE.len(),
        }
    }
}

impl More {
    /// By [`MORE`].
    const fn counts(&self) -> [u64; MORE.len()] {
        let Self {
            undetected,
            ejections,
            attempts,
            out_of_pool,
            dropped_reads,
            dropped_writes,
            dropped_batch_jobs,
            silent_losses,
            vain_rejections,
        } = *self;
        [
            undetected,
            ejections,
            attempts,
            out_of_pool,
            dropped_reads,
            dropped_writes,
            dropped_batch_jobs,
            silent_losses,
            vain_rejections,
        ]
    }
}

impl More {
    /// What became of requests, and what else was counted.
    const fn new(traffic: &Traffic, counts: Counts, out_of_pool: u64) -> Self {
        let Counts { undetected, ejections, attempts } = counts;
        let kinds = &traffic.kinds;
        Self {
            undetected,
            ejections,
            attempts,
            out_of_pool,
            dropped_reads: kinds.read.dropped,
            dropped_writes: kinds.write.dropped,
            dropped_batch_jobs: kinds.batch.dropped,
            silent_losses: kinds.write.lost_silently,
            vain_rejections: traffic.vain_rejections,
        }
    }
}

impl From<&model::Run> for Outcome {
    fn from(run: &model::Run) -> Self {
        let counts = Counts {
            undetected: run.undetected,
            ejections: run.ejections.len() as u64,
            attempts: RuleKind::ALL.into_iter().map(|rule| run.attempts[rule]).sum(),
        };
        Self { figures: Figures::from(run), more: More::new(&run.traffic, counts, run.out_of_pool) }
    }
}

impl From<&local::Run> for Outcome {
    fn from(run: &local::Run) -> Self {
        Self { figures: Figures::from(run), more: More::new(&run.traffic(), run.counts, run.out_of_pool()) }
    }
}
