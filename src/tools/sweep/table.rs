//! A sweep's report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cores::on_all_cores;
use super::front::front;
use super::run::Rows;
use super::space::Space;
use crate::report::{Map, Mapped, Metric, Output, Picture, Report, Table, Worse};
use crate::tools::outcome::{Columns, Outcome};

const METRICS: [Metric; 4] = [
    Metric { name: "Longest detection, in turns", decimals: 0, worse: Worse::More },
    Metric { name: "Needless restarts", decimals: 0, worse: Worse::More },
    Metric { name: "Failed requests", decimals: 0, worse: Worse::More },
    Metric { name: "Truly serving", decimals: 2, worse: Worse::Less },
];

/// The most policies that are shown on a terminal.
const ON_SCREEN: usize = 200;

/// The most policies that a page shows.
const ON_PAGE: usize = 5_000;

/// A row for each policy that was run: what was varied, what came of it, and whether it is on the front. Where that is
/// too much for people, they see the front. Only what the form needs is there.
pub fn report(space: &Space, rows: &Rows, form: Output) -> Result<Report, serde_json::Error> {
    let on_front = front(rows.iter().map(|(_, outcome)| outcome));
    let rows: Vec<_> = rows
        .iter()
        .zip(on_front)
        .map(|((number, outcome), on_front)| Row { number: *number, outcome, on_front })
        .collect();
    let (shown, note) = shown(&rows, if form == Output::Html { ON_PAGE } else { ON_SCREEN });
    let people = table(space, &shown, Columns::of(space.scenario()));
    let report = match form {
        Output::Table => Report::of_table(people),
        Output::Csv => Report::of_table(people).with_csv(csv(space, &rows)),
        Output::Json => Report::new(people, &values(space, &rows))?,
        Output::Html => {
            let report = Report::new(people, &values(space, &shown))?;
            if note.is_empty() { report.with_picture(Picture::Map(map(space, &rows))) } else { report }
        }
    };
    let front = format!(
        "{} of {} policies. On the Pareto front, marked *, are those than which none detects faster without more needless \
         restarts.\n",
        rows.len(),
        space.len()
    );
    Ok(report.with_preamble(front).with_preamble(note))
}

/// The rows that people see where there is room for so many, and a line about the others, if there are any.
fn shown<'a>(rows: &[Row<'a>], room: usize) -> (Vec<Row<'a>>, String) {
    let all = rows.len();
    if all <= room {
        return (rows.to_vec(), String::new());
    }
    let mut front: Vec<_> = rows.iter().copied().filter(|row| row.on_front).collect();
    let which = match front.len() {
        on_front if on_front <= room => "the front".to_owned(),
        on_front => format!("the first {room} of the {on_front} on the front"),
    };
    front.truncate(room);
    (front, format!("Shown is only {which}; --output csv and json have all {all}.\n"))
}

fn table(space: &Space, rows: &[Row<'_>], columns: Columns) -> Table {
    let fields = space.axes().iter().map(|axis| axis.field.clone());
    let figures = columns.names().chain(["pareto"]).map(str::to_owned);
    Table::new(fields.chain(figures), rows.iter().map(|row| row.cells(space, columns)))
}

/// What [`table`] makes of all of them, as comma-separated values.
fn csv(space: &Space, rows: &[Row<'_>]) -> String {
    let shares = on_all_cores(rows.len(), |share| table(space, &rows[share], Columns::All).csv_rows());
    table(space, &[], Columns::All).csv() + &shares.concat()
}

fn values<'a>(space: &'a Space, rows: &[Row<'a>]) -> Vec<Value<'a>> {
    rows.iter().map(|row| row.value(space)).collect()
}

/// A policy that was run.
#[derive(Clone, Copy)]
struct Row<'a> {
    number: usize,
    outcome: &'a Outcome,
    on_front: bool,
}

#[derive(Serialize)]
struct Value<'a> {
    /// The values of the varied fields.
    policy: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    outcome: &'a Outcome,
    pareto: bool,
}

impl<'a> Row<'a> {
    fn cells(&self, space: &Space, columns: Columns) -> Vec<String> {
        let values = space.values(self.number).map(str::to_owned);
        let mark = if self.on_front { "*" } else { "" };
        values.chain(self.outcome.cells(columns)).chain([mark.to_owned()]).collect()
    }

    fn value(&self, space: &'a Space) -> Value<'a> {
        let fields = space.axes().iter().map(|axis| axis.field.as_str());
        Value { policy: fields.zip(space.values(self.number)).collect(), outcome: self.outcome, pareto: self.on_front }
    }
}

fn map(space: &Space, rows: &[Row<'_>]) -> Map {
    let figures = |outcome: &Outcome| {
        let (undetected, turns) = outcome.detection();
        vec![
            Some(turns).filter(|turns| undetected == 0 && turns.is_finite()),
            Some(outcome.figures.unnecessary as f64),
            Some(outcome.figures.total_errors as f64),
            Some(outcome.figures.truly_serving),
        ]
    };
    let policies = rows.iter().map(|row| Mapped {
        places: space.places(row.number),
        figures: figures(row.outcome),
        on_front: row.on_front,
    });
    Map {
        fields: space.axes().iter().map(|axis| (axis.field.clone(), axis.values.to_vec())).collect(),
        metrics: METRICS.to_vec(),
        policies: policies.collect(),
    }
}
