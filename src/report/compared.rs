//! What was measured beside what the model says.

use std::iter;

use serde_json::{Map, Value, json};

use super::{Cell, Picture, Recording, Report, Table};

/// A setting, and its figures by the same columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared<const N: usize> {
    setting: String,
    model: [Cell; N],
    measured: [Cell; N],
    recording: Option<Recording>,
}

/// Model, measured and difference below each other, for each setting.
pub fn beside_the_model<const N: usize>(
    header: [&'static str; N],
    rows: &[Compared<N>],
) -> Result<Report, serde_json::Error> {
    let table = Table::new(["setting", "figures"].into_iter().chain(header), rows.iter().flat_map(Compared::rows));
    let object = |cells: &[Cell; N]| {
        let fields = header.iter().zip(cells).map(|(name, cell)| ((*name).to_owned(), cell.value()));
        Value::Object(Map::from_iter(fields))
    };
    let value = rows.iter().map(|row| {
        let difference = row.difference();
        json!({
            "setting": row.setting,
            "model": object(&row.model),
            "measured": object(&row.measured),
            "difference": object(&difference),
        })
    });
    let report = Report::new(table, &value.collect::<Value>())?;
    Ok(rows.iter().filter_map(Compared::picture).fold(report, Report::with_picture))
}

impl<const N: usize> Compared<N> {
    /// What the model says of a setting, and what was measured.
    pub const fn new(setting: String, model: [Cell; N], measured: [Cell; N]) -> Self {
        Self { setting, model, measured, recording: None }
    }

    /// With what happened in the run that was measured.
    #[must_use]
    pub fn with_recording(mut self, recording: Recording) -> Self {
        self.recording = Some(recording);
        self
    }

    fn picture(&self) -> Option<Picture> {
        let recording = self.recording.clone()?;
        Some(Picture::Run { name: format!("{}, measured", self.setting), recording })
    }

    fn difference(&self) -> [Cell; N] {
        std::array::from_fn(|column| self.measured[column].minus(&self.model[column]))
    }

    fn rows(&self) -> [Vec<String>; 3] {
        let difference = self.difference();
        [("model", &self.model), ("measured", &self.measured), ("difference", &difference)].map(|(name, cells)| {
            iter::once(self.setting.clone())
                .chain(iter::once(name.to_owned()))
                .chain(cells.iter().map(Cell::print))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Output;
    use super::*;

    #[test]
    fn the_difference_has_a_sign_and_is_no_number_where_there_is_nothing_to_compare() {
        let compared = Compared::new(
            "registry".to_owned(),
            [
                Cell::Count(149),
                Cell::Decimals(2.5, 2),
                Cell::Count(3),
                Cell::Nothing("manual"),
                Cell::Nothing("manual"),
            ],
            [Cell::Count(151), Cell::Decimals(2.25, 2), Cell::Count(3), Cell::Count(7), Cell::Nothing("manual")],
        );
        let report = beside_the_model(["dead", "mean", "new", "window", "list"], &[compared]).unwrap();
        let mut out = Vec::new();
        report.write(Output::Csv, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "setting,figures,dead,mean,new,window,list\n\
             registry,model,149,2.50,3,manual,manual\n\
             registry,measured,151,2.25,3,7,manual\n\
             registry,difference,+2,-0.25,0,n/a,0\n"
        );
        assert_eq!(report.json()[0]["difference"]["window"], Value::Null);
    }
}
