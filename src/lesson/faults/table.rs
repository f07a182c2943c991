//! The table of the lesson, out of the model.

use serde_json::{Map, Value, json};

use super::rules::{Rule, Under};
use crate::engine::{Phase, Time};
use crate::lesson::LessonError;
use crate::model;
use crate::report::{Cell, Figures, Picture, Recording, Report, Table};

/// What is counted of each run.
pub const COLUMNS: [&str; 5] = ["restarts", "unnecessary", "ejections", "total_errors", "truly_serving"];

/// How the three figures of a cell are told apart.
const PREAMBLE: &str = "Each figure: without the rule / with it / under the kubelet alone, with the same probes.\n";

/// A row for each rule.
pub fn report(rules: &[Rule]) -> Result<Report, LessonError> {
    let rows: Vec<_> = rules.iter().map(|rule| Row::of(*rule)).collect::<Result<_, _>>()?;
    let table = Table::new(["fault", "rule"].into_iter().chain(COLUMNS), rows.iter().map(Row::together));
    let each = COLUMNS.iter().flat_map(|column| Under::ALL.map(|under| format!("{column}_{}", under.name())));
    let apart = Table::new(["fault", "rule"].map(str::to_owned).into_iter().chain(each), rows.iter().map(Row::apart));
    let report = Report::new(table, &rows.iter().map(Row::value).collect::<Value>())?;
    let report = report.with_preamble(PREAMBLE.to_owned()).with_csv(apart.csv());
    Ok(rows.into_iter().flat_map(Row::pictures).fold(report, Report::with_picture))
}

/// What comes of a rule's scenario in the model, by [`COLUMNS`], and what happens.
pub fn played(rule: Rule, under: Under) -> Result<([Cell; 5], Recording), LessonError> {
    let scenario = rule.scenario()?;
    let policy = rule.policy(under)?.spec.parse(1, Phase::Aligned { origin: Time::ZERO })?;
    let mut recording = Recording::of(&scenario);
    let run = match under {
        Under::Without | Under::With => model::observe(&scenario, &policy, &mut recording)?,
        Under::Kubelet => model::kubelet::observe(&scenario, &policy, &mut recording)?,
    };
    Ok((columns(&Figures::from(&run), Cell::Count(run.ejections.len() as u64)), recording))
}

/// The figures of a run and its ejections, by [`COLUMNS`].
pub fn columns(figures: &Figures, ejections: Cell) -> [Cell; 5] {
    let [restarts, unnecessary, _, _, _, total_errors, truly_serving, _] = figures.columns();
    [restarts, unnecessary, ejections, total_errors, truly_serving]
}

/// A rule and what came of its scenario, in the order of [`Under::ALL`].
struct Row {
    rule: Rule,
    runs: [([Cell; 5], Recording); 3],
}

impl Row {
    fn of(rule: Rule) -> Result<Self, LessonError> {
        let [without, with, kubelet] = Under::ALL.map(|under| played(rule, under));
        Ok(Self { rule, runs: [without?, with?, kubelet?] })
    }

    /// The three figures of a column in a cell.
    fn together(&self) -> Vec<String> {
        let figures = (0..COLUMNS.len()).map(|column| self.printed(column).join(" / "));
        self.named().into_iter().chain(figures).collect()
    }

    /// Each figure in a cell of its own.
    fn apart(&self) -> Vec<String> {
        self.named().into_iter().chain((0..COLUMNS.len()).flat_map(|column| self.printed(column))).collect()
    }

    fn value(&self) -> Value {
        let figures = |(figures, _): &([Cell; 5], Recording)| {
            let named = COLUMNS.iter().zip(figures).map(|(column, cell)| ((*column).to_owned(), json!(cell)));
            Value::Object(Map::from_iter(named))
        };
        let [without, with, kubelet] = self.runs.each_ref().map(figures);
        json!({
            "fault": self.rule.fault(),
            "rule": self.rule.name(),
            "without": without,
            "with": with,
            "kubelet": kubelet,
        })
    }

    fn pictures(self) -> impl Iterator<Item = Picture> {
        let picture = move |(under, (_, recording)): (Under, _)| Picture::Run {
            name: self.rule.run(under).to_owned(),
            recording,
        };
        Under::ALL.into_iter().zip(self.runs).map(picture)
    }

    fn named(&self) -> [String; 2] {
        [self.rule.fault(), self.rule.name()].map(str::to_owned)
    }

    fn printed(&self, column: usize) -> [String; 3] {
        self.runs.each_ref().map(|(figures, _)| figures[column].print())
    }
}
