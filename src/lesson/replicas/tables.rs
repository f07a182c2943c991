//! The two published tables, out of the model, and what was measured beside the model.

use std::iter;

use serde::Serialize;

use super::settings::{Setting, describe};
use crate::api::{Duration, ProbePolicySpec};
use crate::engine::{Phase, RuleKind, Span, Time};
use crate::lesson::LessonError;
use crate::model;
use crate::report::{COLUMNS, Difference, Figures, Picture, Recording, Report, Table};
use crate::scenario::Scenario;

/// What a page about the lesson is called.
const TITLE: &str = "Lesson replicas";

/// The figures of a policy in the model.
pub fn modelled(scenario: &Scenario, spec: &ProbePolicySpec) -> Result<Figures, LessonError> {
    let policy = spec.parse(1, Phase::Aligned { origin: Time::ZERO })?;
    Ok(Figures::from(&model::run(scenario, &policy)?))
}

/// The same, and what happened.
pub fn recorded(scenario: &Scenario, spec: &ProbePolicySpec) -> Result<(Figures, Recording), LessonError> {
    let policy = spec.parse(1, Phase::Aligned { origin: Time::ZERO })?;
    let mut recording = Recording::of(scenario);
    let run = model::observe(scenario, &policy, &mut recording)?;
    Ok((Figures::from(&run), recording))
}

/// Settings beside each other; all of them are the table `lessons/replicas/replicas-settings.csv`.
pub fn settings(scenario: &Scenario, settings: &[Setting]) -> Result<Report, LessonError> {
    let rows: Vec<_> = settings.iter().map(|setting| SettingRow::new(scenario, *setting)).collect::<Result<_, _>>()?;
    let header = iter::once("setting").chain(COLUMNS);
    let table = Table::new(
        header,
        rows.iter().map(|row| iter::once(row.setting.to_owned()).chain(row.figures.cells()).collect()),
    );
    let preamble = rows.iter().map(SettingRow::sentence).collect();
    let described = ["setting", "liveness", "readiness", "startup"].into_iter().chain(COLUMNS);
    let csv = Table::new(described, rows.iter().map(SettingRow::cells));
    let report = Report::new(table, &rows)?.with_title(TITLE).with_preamble(preamble).with_csv(csv);
    Ok(rows.into_iter().fold(report, |report, row| report.with_picture(row.picture())))
}

/// Liveness period x threshold, without and with a startup rule: `lessons/replicas/replicas-sweep.csv`.
pub fn sweep(scenario: &Scenario) -> Result<Report, LessonError> {
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
    Ok(Report::new(table, &rows)?.with_title(TITLE))
}

/// What was measured, beside the model and with the difference.
pub fn comparison(rows: &[Comparison]) -> Result<Report, LessonError> {
    let header = ["setting", "figures"].into_iter().chain(COLUMNS);
    let table = Table::new(header, rows.iter().flat_map(Comparison::rows));
    let report = Report::new(table, rows)?.with_title(TITLE);
    let pictures = rows.iter().flat_map(|row| &row.pictures).cloned();
    Ok(pictures.fold(report, Report::with_picture))
}

/// A setting, measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    setting: String,
    model: Figures,
    measured: Figures,
    difference: Difference,
    #[serde(skip)]
    pictures: Vec<Picture>,
}

impl Comparison {
    /// What was measured of a setting, and what the model says.
    pub fn new(setting: String, model: Figures, measured: Figures) -> Self {
        Self { setting, difference: measured.minus(&model), model, measured, pictures: Vec::new() }
    }

    /// With what happened in one of the runs that were measured.
    pub fn with_recording(mut self, recording: Recording) -> Self {
        let name = format!("{}, measured", self.setting);
        self.pictures.push(Picture::Run { name, recording });
        self
    }

    fn rows(&self) -> [Vec<String>; 3] {
        [("model", self.model.cells()), ("measured", self.measured.cells()), ("difference", self.difference.cells())]
            .map(|(name, cells)| [self.setting.clone(), name.to_owned()].into_iter().chain(cells).collect())
    }
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

#[cfg(test)]
mod tests {
    use super::super::settings;
    use super::*;
    use crate::report::Output;

    fn csv(report: &Report) -> String {
        let mut out = Vec::new();
        report.write(Output::Csv, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_measured_stands_between_the_model_and_the_difference() {
        let scenario = settings::scenario().unwrap();
        let model = modelled(&scenario, &Setting::PlusStartup.policy().unwrap().spec).unwrap();
        let measured = Figures { total_errors: 58, detection: vec![11.25, 11.0], ..model.clone() };
        let report = comparison(&[Comparison::new("plus startup".to_owned(), model, measured)]).unwrap();
        assert_eq!(
            csv(&report),
            "setting,figures,restarts,unnecessary,killed_in_startup,in_loop,early_errors,total_errors,truly_serving,detection\n\
             plus startup,model,2,0,0,0,0,0,7.39,10 10\n\
             plus startup,measured,2,0,0,0,0,58,7.39,11.25 11\n\
             plus startup,difference,0,0,0,0,0,+58,0.00,+1.25 +1.00\n"
        );
        assert_eq!(report.json()[0]["difference"]["total_errors"], 58);
    }
}
