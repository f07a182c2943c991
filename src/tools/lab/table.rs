//! The figures of a lab.

use std::iter;

use serde::Serialize;

use crate::report::{COLUMNS, Difference, Figures, Report, Table};

/// What was measured, beside the model where there is one.
#[derive(Debug, Serialize)]
pub struct Measured {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Figures>,
    measured: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
}

impl Measured {
    /// What was measured, and what the model says if it says anything.
    pub fn new(measured: Figures, model: Option<Figures>) -> Self {
        Self { difference: model.as_ref().map(|model| measured.minus(model)), model, measured }
    }

    /// The same as a report.
    pub fn report(&self) -> Result<Report, serde_json::Error> {
        let rows = [
            ("model", self.model.as_ref().map(Figures::cells)),
            ("measured", Some(self.measured.cells())),
            ("difference", self.difference.as_ref().map(Difference::cells)),
        ];
        let rows =
            rows.into_iter().filter_map(|(name, cells)| Some(iter::once(name.to_owned()).chain(cells?).collect()));
        Report::new(Table::new(iter::once("figures").chain(COLUMNS), rows), self)
    }
}
