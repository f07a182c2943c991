//! The reports of simulations.

use std::iter;

use serde::Serialize;

use crate::report::{COLUMNS, Difference, Figures, Report, Table};

/// A policy and what came of it.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    /// Its file.
    pub policy: &'a str,
    /// What came of it.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Policies below each other.
pub fn runs(rows: &[Row<'_>]) -> Result<Report, serde_json::Error> {
    Report::new(Table::new(header(), rows.iter().map(Row::cells)), rows)
}

/// Two policies, and what the second has more than the first.
pub fn comparison(first: &Row<'_>, second: &Row<'_>) -> Result<Report, serde_json::Error> {
    let difference = second.figures.minus(&first.figures);
    let last = iter::once("difference".to_owned()).chain(difference.cells()).collect();
    let table = Table::new(header(), [first.cells(), second.cells(), last]);
    Report::new(table, &Comparison { policies: [first, second], difference })
}

#[derive(Serialize)]
struct Comparison<'a> {
    policies: [&'a Row<'a>; 2],
    difference: Difference,
}

impl Row<'_> {
    fn cells(&self) -> Vec<String> {
        iter::once(self.policy.to_owned()).chain(self.figures.cells()).collect()
    }
}

fn header() -> impl Iterator<Item = &'static str> {
    iter::once("policy").chain(COLUMNS)
}
