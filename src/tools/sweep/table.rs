//! A sweep's report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::run::Rows;
use super::space::Space;
use crate::report::{COLUMNS, Figures, Report, Table};

/// A row for each policy that was run: what was varied, and the figures.
pub fn report(space: &Space, rows: &Rows) -> Result<Report, serde_json::Error> {
    let header = space.fields().chain(COLUMNS);
    let cells = rows
        .iter()
        .map(|(number, figures)| space.values(*number).into_iter().map(str::to_owned).chain(figures.cells()).collect());
    let values: Vec<_> = rows
        .iter()
        .map(|(number, figures)| Row { policy: space.fields().zip(space.values(*number)).collect(), figures })
        .collect();
    Report::new(Table::new(header, cells), &values)
}

#[derive(Serialize)]
struct Row<'a> {
    /// The values of the varied fields.
    policy: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    figures: &'a Figures,
}
