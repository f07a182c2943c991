//! The figures of a lab.

use std::iter;

use serde::Serialize;

use crate::report::{Report, Table};
use crate::tools::outcome::{Columns, Outcome, OutcomeDifference};

/// What was measured, beside the model where there is one.
#[derive(Debug, Serialize)]
pub struct Measured {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Outcome>,
    measured: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<OutcomeDifference>,
}

impl Measured {
    /// What was measured, and what the model says if it says anything.
    pub fn new(measured: Outcome, model: Option<Outcome>) -> Self {
        Self { difference: model.as_ref().map(|model| measured.minus(model)), model, measured }
    }

    /// The same as a report, of which people see these columns.
    pub fn report(&self, columns: Columns) -> Result<Report, serde_json::Error> {
        Ok(Report::new(self.table(columns), self)?.with_csv(self.table(Columns::All).csv()))
    }

    fn table(&self, columns: Columns) -> Table {
        let rows = [
            ("model", self.model.as_ref().map(|model| model.cells(columns).collect::<Vec<_>>())),
            ("measured", Some(self.measured.cells(columns).collect())),
            ("difference", self.difference.as_ref().map(|difference| difference.cells(columns).collect())),
        ];
        let rows =
            rows.into_iter().filter_map(|(name, cells)| Some(iter::once(name.to_owned()).chain(cells?).collect()));
        Table::new(iter::once("figures").chain(columns.names()), rows)
    }
}
