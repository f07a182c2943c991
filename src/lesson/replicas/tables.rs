//! The two published tables, out of the model.

use std::iter;

use clap::ValueEnum;
use serde::Serialize;

use super::settings::{Setting, describe};
use crate::api::{Duration, ProbePolicySpec};
use crate::engine::{Phase, RuleKind, Span, Time};
use crate::lesson::LessonError;
use crate::lesson::comparison::{Choice, ModelTable};
use crate::model;
use crate::report::{COLUMNS, Figures, Picture, Recording, Report, Table};
use crate::scenario::Scenario;

/// A table that the lesson publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Published {
    /// The four settings
    Settings,
    /// Liveness period and threshold, without and with a startup rule
    Sweep,
}

impl ModelTable<Setting> for Published {
    const OF_SETTINGS: Self = Self::Settings;

    fn is_of_settings(self) -> bool {
        match self {
            Self::Settings => true,
            Self::Sweep => false,
        }
    }

    fn report(self, scenario: &Scenario, settings: &[Setting]) -> Result<Report, LessonError> {
        match self {
            Self::Settings => of_settings(scenario, settings),
            Self::Sweep => sweep(scenario),
        }
    }
}

/// The figures of a policy in the model.
pub fn modelled(scenario: &Scenario, spec: &ProbePolicySpec) -> Result<Figures, LessonError> {
    let policy = spec.parse(1, Phase::Aligned { origin: Time::ZERO })?;
    Ok(Figures::from(&model::run(scenario, &policy)?))
}

/// The same, and what happened.
fn recorded(scenario: &Scenario, spec: &ProbePolicySpec) -> Result<(Figures, Recording), LessonError> {
    let policy = spec.parse(1, Phase::Aligned { origin: Time::ZERO })?;
    let mut recording = Recording::of(scenario);
    let run = model::observe(scenario, &policy, &mut recording)?;
    Ok((Figures::from(&run), recording))
}

/// Settings beside each other; all of them are the table `lessons/replicas/replicas-settings.csv`.
fn of_settings(scenario: &Scenario, settings: &[Setting]) -> Result<Report, LessonError> {
    let rows: Vec<_> = settings.iter().map(|setting| SettingRow::new(scenario, *setting)).collect::<Result<_, _>>()?;
    let header = iter::once("setting").chain(COLUMNS);
    let table = Table::new(
        header,
        rows.iter().map(|row| iter::once(row.setting.to_owned()).chain(row.figures.cells()).collect()),
    );
    let preamble = rows.iter().map(SettingRow::sentence).collect();
    let described = ["setting", "liveness", "readiness", "startup"].into_iter().chain(COLUMNS);
    let csv = Table::new(described, rows.iter().map(SettingRow::cells));
    let report = Report::new(table, &rows)?.with_preamble(preamble).with_csv(csv.csv());
    Ok(rows.into_iter().fold(report, |report, row| report.with_picture(row.picture())))
}

/// Liveness period x threshold, without and with a startup rule: `lessons/replicas/replicas-sweep.csv`.
fn sweep(scenario: &Scenario) -> Result<Report, LessonError> {
    let with_startup = Setting::PlusStartup.policy()?.spec;
    let without = ProbePolicySpec { startup: None, ..with_startup.clone() };
    let mut rows = Vec::new();
    for base in [without, with_startup] {
        for period in [2, 5, 10] {
            for threshold in [2, 3, 6] {
                let mut spec = base.clone();
                if let Some(liveness) = &mut spec.liveness {
                    liveness.period = Duration::from_millis(turns(scenario, period).as_nanos() / 1_000_000);
                    liveness.failure_threshold = threshold;
                }
                rows.push(SweepRow::new(scenario, &spec, period, threshold)?);
            }
        }
    }
    let header =
        ["startup", "period", "threshold", "tolerance", "detection", "killed_in_startup", "in_loop", "truly_serving"];
    let table = Table::new(header, rows.iter().map(SweepRow::cells));
    Ok(Report::new(table, &rows)?)
}

/// A row of the table of the settings.
#[derive(Serialize)]
struct SettingRow {
    setting: &'static str,
    liveness: String,
    readiness: String,
    startup: String,
    #[serde(flatten)]
    figures: Figures,
    #[serde(skip)]
    recording: Recording,
}

impl SettingRow {
    fn new(scenario: &Scenario, setting: Setting) -> Result<Self, LessonError> {
        let spec = setting.policy()?.spec;
        let policy = spec.parse(1, Phase::Spread)?;
        let describe = |kind| describe(&policy, kind, scenario.turn());
        let (figures, recording) = recorded(scenario, &spec)?;
        Ok(Self {
            setting: setting.title(),
            liveness: describe(RuleKind::Liveness),
            readiness: describe(RuleKind::Readiness),
            startup: describe(RuleKind::Startup),
            figures,
            recording,
        })
    }

    /// The setting in a line, for people.
    fn sentence(&self) -> String {
        let rules: Vec<_> = [("startup", &self.startup), ("liveness", &self.liveness), ("readiness", &self.readiness)]
            .into_iter()
            .filter(|(_, rule)| !rule.is_empty())
            .map(|(kind, rule)| format!("{kind} {rule}"))
            .collect();
        let rules = if rules.is_empty() { "nobody asks".to_owned() } else { rules.join("; ") };
        format!("{}: {rules}\n", self.setting)
    }

    fn picture(self) -> Picture {
        Picture::Run { name: self.setting.to_owned(), recording: self.recording }
    }

    fn cells(&self) -> Vec<String> {
        let described = [self.setting, &self.liveness, &self.readiness, &self.startup].map(str::to_owned);
        described.into_iter().chain(self.figures.cells()).collect()
    }
}

/// A row of the table of the sweep.
#[derive(Serialize)]
struct SweepRow {
    startup: String,
    period: u64,
    threshold: i32,
    tolerance: u64,
    #[serde(flatten)]
    figures: Figures,
}

impl SweepRow {
    fn new(scenario: &Scenario, spec: &ProbePolicySpec, period: u64, threshold: i32) -> Result<Self, LessonError> {
        let startup = describe(&spec.parse(1, Phase::Spread)?, RuleKind::Startup, scenario.turn());
        Ok(Self {
            startup: if startup.is_empty() { "none".to_owned() } else { startup },
            period,
            threshold,
            tolerance: period * u64::from(threshold.unsigned_abs()),
            figures: modelled(scenario, spec)?,
        })
    }

    fn cells(&self) -> Vec<String> {
        let [_, _, killed_in_startup, in_loop, _, _, truly_serving, detection] = self.figures.cells();
        let (period, threshold, tolerance) = (self.period, self.threshold, self.tolerance);
        [self.startup.clone(), period.to_string(), threshold.to_string(), tolerance.to_string()]
            .into_iter()
            .chain([detection, killed_in_startup, in_loop, truly_serving])
            .collect()
    }
}

fn turns(scenario: &Scenario, turns: u64) -> Span {
    scenario.turn() * turns
}
