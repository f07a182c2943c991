//! The lesson's tables, out of the model.

use std::iter;

use clap::ValueEnum;
use serde::Serialize;

use super::content::Content;
use super::detection::Detection;
use super::load::{Checks, FalseEjection, Load};
use crate::api::{Duration, FleetSpec, ParsedPolicy, ProbePolicySpec, SharedFailureSpec};
use crate::engine::{Phase, RuleKind, Span, Time};
use crate::lesson::LessonError;
use crate::lesson::comparison::ModelTable;
use crate::model::{self, Run, Traffic};
use crate::report::{self, Cell, Picture, Recording, Report, decimals};
use crate::scenario::{Opening, Scenario, TrueState};

/// The columns of what a depth costs and saves.
pub const COLUMNS: [&str; 6] =
    ["out_of_pool", "dropped_reads", "dropped_writes", "dropped_batch", "silent_losses", "vain_rejections"];
/// The intervals of the lesson, in turns.
const INTERVALS: [u32; 4] = [1, 2, 4, 8];
/// The fleets and the intervals, in turns, whose checks the lesson counts.
const CHECKED: [(u32, u32); 6] = [(3, 1), (3, 4), (12, 1), (12, 4), (48, 1), (48, 4)];

/// A table of the lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// What each depth costs and what it saves
    Content,
    /// The same while a replica is only ejected if it is worse off than its neighbours (sharedFailure: Hold)
    Neighbours,
    /// What it costs to ask less often
    Interval,
    /// What the asking itself costs
    Load,
    /// What it costs to eject a replica that is only briefly silent
    FalseEjection,
}

impl ModelTable<Content> for Table {
    const OF_SETTINGS: Self = Self::Content;

    fn is_of_settings(self) -> bool {
        match self {
            Self::Content | Self::Neighbours => true,
            Self::Interval | Self::Load | Self::FalseEjection => false,
        }
    }

    fn report(self, scenario: &Scenario, contents: &[Content]) -> Result<Report, LessonError> {
        match self {
            Self::Content => content(scenario, contents, SharedFailureSpec::Ignore),
            Self::Neighbours => content(scenario, contents, SharedFailureSpec::Hold),
            Self::Interval => interval(scenario),
            Self::Load => load(scenario),
            Self::FalseEjection => false_ejection(scenario),
        }
    }
}

/// Depths beside each other, with a failure that replicas share ignored or held against nobody. Ignored, all of them
/// are the table `lessons/depth/depth-content.csv`.
fn content(scenario: &Scenario, contents: &[Content], shared: SharedFailureSpec) -> Result<Report, LessonError> {
    let (mut rows, mut pictures, mut preamble) = (Vec::new(), Vec::new(), String::new());
    for content in contents {
        let spec = content.policy()?.spec;
        let spec = ProbePolicySpec { fleet: FleetSpec { shared_failure: shared, ..spec.fleet }, ..spec };
        let policy = parsed(&spec)?;
        preamble += &sentence(*content, &policy, scenario.turn());
        let mut recording = Recording::of(scenario);
        let run = model::observe(scenario, &policy, &mut recording)?;
        rows.push(ContentRow::new(*content, &run.traffic, run.out_of_pool));
        pictures.push(Picture::Run { name: content.name().to_owned(), recording });
    }
    let header = iter::once("content").chain(COLUMNS);
    let report = Report::new(report::Table::new(header, rows.iter().map(ContentRow::cells)), &rows)?;
    let report = report.with_preamble(preamble);
    Ok(pictures.into_iter().fold(report, Report::with_picture))
}

/// What the model says of a depth, by [`COLUMNS`].
pub fn modelled(scenario: &Scenario, content: Content) -> Result<Vec<Cell>, LessonError> {
    let run = model::run(scenario, &parsed(&content.policy()?.spec)?)?;
    Ok(columns(content, &run.traffic, run.out_of_pool))
}

/// What came of a depth, by [`COLUMNS`].
pub fn columns(content: Content, traffic: &Traffic, out_of_pool: u64) -> Vec<Cell> {
    ContentRow::new(content, traffic, out_of_pool).figures().map(Cell::Count).to_vec()
}

/// How often `deep-local` is asked: `lessons/depth/depth-interval.csv`.
fn interval(scenario: &Scenario) -> Result<Report, LessonError> {
    let row = |turns| Ok(IntervalRow::new(turns, &Checked::every(scenario, turns)?));
    let rows = INTERVALS.into_iter().map(row).collect::<Result<Vec<_>, LessonError>>()?;
    let header = ["interval", "checks", "detection_delay", "false_ejections", "dropped_reads", "silent_losses"];
    Ok(Report::new(report::Table::new(header, rows.iter().map(IntervalRow::cells)), &rows)?)
}

/// What the checks put on the store: `lessons/depth/depth-load.csv`.
fn load(scenario: &Scenario) -> Result<Report, LessonError> {
    let load = Load::of_the_lesson()?;
    let rows = CHECKED.map(|(replicas, turns)| {
        let interval = scenario.turn() * u64::from(turns);
        LoadRow { replicas, interval_s: interval.as_secs_f64(), checks: load.checks(replicas, interval) }
    });
    let header = ["replicas", "interval_s", "checks_per_s", "share_percent", "checks_per_day"];
    Ok(Report::new(report::Table::new(header, rows.iter().map(LoadRow::cells)), &rows)?)
}

/// What it costs to eject a replica that is only briefly silent, by how often `deep-local` is asked.
fn false_ejection(scenario: &Scenario) -> Result<Report, LessonError> {
    let load = Load::of_the_lesson()?;
    let silent_turns = silent_turns(scenario);
    let replicas = u32::try_from(scenario.replicas()).unwrap_or(u32::MAX);
    let row = |interval| {
        let ejections = Checked::every(scenario, interval)?.false_ejections();
        let span = scenario.turn() * u64::from(interval);
        Ok(FalseEjectionRow { interval, cost: load.false_ejection(replicas, span, ejections, silent_turns) })
    };
    let rows = INTERVALS.into_iter().map(row).collect::<Result<Vec<_>, LessonError>>()?;
    let header = [
        "interval",
        "false_ejections_per_month",
        "requests_per_s",
        "requests_per_s_meanwhile",
        "times",
        "capacity_lost_percent",
        "at_most_s",
    ];
    Ok(Report::new(report::Table::new(header, rows.iter().map(FalseEjectionRow::cells)), &rows)?)
}

/// A fleet whose replicas are checked, and what came of that.
struct Checked {
    run: Run,
    detection: Detection,
}

impl Checked {
    fn new(scenario: &Scenario, policy: &ParsedPolicy) -> Result<Self, LessonError> {
        let threshold = policy.policy.rule(RuleKind::Readiness).map_or(1, |rule| rule.failure_threshold.get());
        let mut detection = Detection::new(scenario, threshold);
        let run = model::observe(scenario, policy, &mut detection)?;
        Ok(Self { run, detection })
    }

    /// By `deep-local`, every so many turns.
    fn every(scenario: &Scenario, turns: u32) -> Result<Self, LessonError> {
        let mut spec = Content::DeepLocal.policy()?.spec;
        if let Some(readiness) = &mut spec.readiness {
            let period = scenario.turn() * u64::from(turns);
            readiness.period = Duration::from_millis(period.as_nanos() / 1_000_000);
        }
        Self::new(scenario, &parsed(&spec)?)
    }

    /// Replicas that were ejected while they were briefly silent, whatever else ailed them.
    fn false_ejections(&self) -> usize {
        self.run.ejections.iter().filter(|ejection| ejection.condition.is(TrueState::Silent)).count()
    }
}

/// The setting in a line, for people.
fn sentence(content: Content, policy: &ParsedPolicy, turn: Span) -> String {
    let Some(rule) = policy.policy.rule(RuleKind::Readiness) else { return String::new() };
    let (name, period) = (content.name(), rule.period.as_nanos() / turn.as_nanos());
    format!("{name}: readiness asks /{name}, period {period} threshold {}\n", rule.failure_threshold)
}

fn parsed(spec: &ProbePolicySpec) -> Result<ParsedPolicy, LessonError> {
    Ok(spec.parse(1, Phase::Aligned { origin: Time::ZERO })?)
}

/// The turns in which a replica is briefly silent, summed over the replicas.
fn silent_turns(scenario: &Scenario) -> usize {
    let is_silent =
        |replica, turn| scenario.condition(replica, Opening::Warm, scenario.begin_of(turn)).is(TrueState::Silent);
    let of = |replica| scenario.numbers().filter(|turn| is_silent(replica, *turn)).count();
    (0..scenario.replicas()).map(of).sum()
}

#[derive(Serialize)]
struct ContentRow {
    content: Content,
    out_of_pool: u64,
    dropped_reads: u64,
    dropped_writes: u64,
    dropped_batch: u64,
    silent_losses: u64,
    vain_rejections: u64,
}

impl ContentRow {
    fn new(content: Content, traffic: &Traffic, out_of_pool: u64) -> Self {
        let kinds = &traffic.kinds;
        Self {
            content,
            out_of_pool,
            dropped_reads: kinds.read.dropped,
            dropped_writes: kinds.write.dropped,
            dropped_batch: kinds.batch.dropped,
            silent_losses: kinds.write.lost_silently,
            vain_rejections: traffic.vain_rejections,
        }
    }

    fn figures(&self) -> [u64; 6] {
        [
            self.out_of_pool,
            self.dropped_reads,
            self.dropped_writes,
            self.dropped_batch,
            self.silent_losses,
            self.vain_rejections,
        ]
    }

    fn cells(&self) -> Vec<String> {
        let figures = self.figures().map(|figure| figure.to_string());
        iter::once(self.content.name().to_owned()).chain(figures).collect()
    }
}

#[derive(Serialize)]
struct IntervalRow {
    interval: u32,
    checks: u64,
    /// For each stop that was detected, in turns.
    detection_delay: Vec<u64>,
    false_ejections: usize,
    dropped_reads: u64,
    silent_losses: u64,
}

impl IntervalRow {
    fn new(interval: u32, checked: &Checked) -> Self {
        let kinds = &checked.run.traffic.kinds;
        Self {
            interval,
            checks: checked.run.attempts[RuleKind::Readiness],
            detection_delay: checked.detection.delays(),
            false_ejections: checked.false_ejections(),
            dropped_reads: kinds.read.dropped,
            silent_losses: kinds.write.lost_silently,
        }
    }

    fn cells(&self) -> Vec<String> {
        let delays: Vec<_> = self.detection_delay.iter().map(u64::to_string).collect();
        vec![
            self.interval.to_string(),
            self.checks.to_string(),
            if delays.is_empty() { "-".to_owned() } else { delays.join(" ") },
            self.false_ejections.to_string(),
            self.dropped_reads.to_string(),
            self.silent_losses.to_string(),
        ]
    }
}

#[derive(Serialize)]
struct LoadRow {
    replicas: u32,
    interval_s: f64,
    #[serde(flatten)]
    checks: Checks,
}

impl LoadRow {
    fn cells(&self) -> Vec<String> {
        let Checks { checks_per_s, share_percent, checks_per_day } = self.checks;
        vec![
            self.replicas.to_string(),
            self.interval_s.to_string(),
            decimals(checks_per_s, 2),
            decimals(share_percent, 2),
            decimals(checks_per_day, 0),
        ]
    }
}

#[derive(Serialize)]
struct FalseEjectionRow {
    interval: u32,
    #[serde(flatten)]
    cost: FalseEjection,
}

impl FalseEjectionRow {
    fn cells(&self) -> Vec<String> {
        let cost = &self.cost;
        vec![
            self.interval.to_string(),
            decimals(cost.false_ejections_per_month, 1),
            decimals(cost.requests_per_s, 2),
            decimals(cost.requests_per_s_meanwhile, 2),
            decimals(cost.times, 2),
            decimals(cost.capacity_lost_percent, 1),
            cost.at_most_s.to_string(),
        ]
    }
}
