//! A sweep's report.

use std::collections::BTreeMap;

use serde::Serialize;

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

/// The most policies that a page shows.
const ON_PAGE: usize = 5_000;

/// A row for each policy that was run: what was varied, what came of it, and whether it is on the front. A page that
/// would be too long is about those on the front.
pub fn report(space: &Space, rows: &Rows, form: Output) -> Result<Report, serde_json::Error> {
    let on_front = front(rows.iter().map(|(_, outcome)| outcome));
    let mut rows: Vec<_> = rows
        .iter()
        .zip(on_front)
        .map(|((number, outcome), on_front)| Row { number: *number, outcome, on_front })
        .collect();
    let count = rows.len();
    let is_too_long = form == Output::Html && count > ON_PAGE;
    if is_too_long {
        rows.retain(|row| row.on_front);
    }
    let table = |columns: Columns| {
        let fields = space.axes().iter().map(|axis| axis.field.clone());
        let figures = columns.names().chain(["pareto"]).map(str::to_owned);
        Table::new(fields.chain(figures), rows.iter().map(|row| row.cells(space, columns)))
    };
    let values: Vec<_> = rows.iter().map(|row| row.value(space)).collect();
    let report = Report::new(table(Columns::of(space.scenario())), &values)?.with_csv(table(Columns::All));
    Ok(if is_too_long {
        report.with_preamble(format!("Of {count} policies, which a page has no room for, only those on the front.\n"))
    } else {
        report.with_picture(Picture::Map(map(space, &rows)))
    })
}

/// A policy that was run.
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
