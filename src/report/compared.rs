//! What was measured beside what the model says.

use std::cmp::Ordering;
use std::iter;

use serde_json::{Map, Value, json};

use super::{Cell, Picture, Recording, Report, Table, minus};

/// A setting, and its figures by the same columns in the model and wherever they were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    setting: String,
    model: Vec<Cell>,
    measured: Vec<Measured>,
}

/// What was measured in a world, and what happened in the run, if that was recorded.
#[derive(Clone, Debug, PartialEq)]
struct Measured {
    world: &'static str,
    figures: Vec<Cell>,
    recording: Option<Recording>,
}

/// For each setting the model, and then each world with its difference from the model, below each other.
pub fn beside_the_model(header: &[&'static str], rows: &[Compared]) -> Result<Report, serde_json::Error> {
    let names = ["setting", "figures"].into_iter().chain(header.iter().copied());
    let table = Table::new(names, rows.iter().flat_map(Compared::rows));
    let object = |cells: &[Cell]| {
        let fields = header.iter().zip(cells).map(|(name, cell)| ((*name).to_owned(), cell.value()));
        Value::Object(Map::from_iter(fields))
    };
    let world = |row: &Compared, measured: &Measured| {
        json!({
            "world": measured.world,
            "figures": object(&measured.figures),
            "difference": object(&row.difference(measured)),
        })
    };
    let value = rows.iter().map(|row| {
        let measured: Vec<_> = row.measured.iter().map(|measured| world(row, measured)).collect();
        json!({"setting": row.setting, "model": object(&row.model), "measured": measured})
    });
    let report = Report::new(table, &value.collect::<Value>())?;
    Ok(rows.iter().flat_map(Compared::pictures).fold(report, Report::with_picture))
}

/// Of several runs the middle one, column by column; of an even number the lower of the two. `None` without a run.
pub fn median(runs: &[Vec<Cell>]) -> Option<Vec<Cell>> {
    let middle = |column| {
        let mut cells: Vec<&Cell> = runs.iter().filter_map(|run| run.get(column)).collect();
        cells.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        cells.get(cells.len().checked_sub(1)? / 2).copied().cloned()
    };
    (0..runs.first()?.len()).map(middle).collect()
}

impl Compared {
    /// What the model says of a setting, and what was measured in a world.
    pub fn new(setting: String, model: Vec<Cell>, world: &'static str, figures: Vec<Cell>) -> Self {
        Self { setting, model, measured: vec![Measured { world, figures, recording: None }] }
    }

    /// With what happened in the run that was measured last.
    #[must_use]
    pub fn with_recording(mut self, recording: Recording) -> Self {
        if let Some(last) = self.measured.last_mut() {
            last.recording = Some(recording);
        }
        self
    }

    /// Puts what was measured of the same settings in another world beside these. A setting that is new comes last.
    pub fn join(rows: &mut Vec<Self>, others: Vec<Self>) {
        for other in others {
            match rows.iter_mut().find(|row| (&row.setting, &row.model) == (&other.setting, &other.model)) {
                Some(row) => row.measured.extend(other.measured),
                None => rows.push(other),
            }
        }
    }

    fn pictures(&self) -> impl Iterator<Item = Picture> {
        let picture = |measured: &Measured| {
            let name = format!("{}, {}", self.setting, measured.world);
            Some(Picture::Run { name, recording: measured.recording.clone()? })
        };
        self.measured.iter().filter_map(picture)
    }

    fn difference(&self, measured: &Measured) -> Vec<Cell> {
        minus(&measured.figures, &self.model)
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |name: &str, cells: &[Cell]| {
            [self.setting.clone(), name.to_owned()].into_iter().chain(cells.iter().map(Cell::print)).collect()
        };
        let measured =
            self.measured.iter().flat_map(|it| [row(it.world, &it.figures), row("difference", &self.difference(it))]);
        iter::once(row("model", &self.model)).chain(measured).collect()
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
            vec![
                Cell::Count(149),
                Cell::Decimals(2.5, 2),
                Cell::Count(3),
                Cell::Nothing("manual"),
                Cell::Nothing("manual"),
            ],
            "local",
            vec![Cell::Count(151), Cell::Decimals(2.25, 2), Cell::Count(3), Cell::Count(7), Cell::Nothing("manual")],
        );
        let report = beside_the_model(&["dead", "mean", "new", "window", "list"], &[compared]).unwrap();
        let mut out = Vec::new();
        report.write(Output::Csv, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "setting,figures,dead,mean,new,window,list\n\
             registry,model,149,2.50,3,manual,manual\n\
             registry,local,151,2.25,3,7,manual\n\
             registry,difference,+2,-0.25,0,n/a,0\n"
        );
        assert_eq!(report.json()[0]["measured"][0]["difference"]["window"], Value::Null);
    }

    #[test]
    fn what_was_measured_in_several_worlds_stands_beside_the_same_model() {
        let compared =
            |world, errors, detection| Compared::new("one".to_owned(), model(), world, figures(errors, detection));
        let mut rows = vec![compared("local", 18, vec![11.25, 11.0])];
        Compared::join(&mut rows, vec![compared("cluster", 39, vec![11.5])]);
        let report = beside_the_model(&["errors", "detection"], &rows).unwrap();
        let mut out = Vec::new();
        report.write(Output::Csv, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "setting,figures,errors,detection\n\
             one,model,0,10 10\n\
             one,local,18,11.25 11\n\
             one,difference,+18,+1.25 +1.00\n\
             one,cluster,39,11.50\n\
             one,difference,+39,n/a\n"
        );
        assert_eq!(report.json()[0]["measured"][1]["world"], "cluster");
    }

    #[test]
    fn the_median_is_taken_column_by_column() {
        let run = |errors, detection| figures(errors, vec![detection]);
        assert_eq!(median(&[run(1, 11.0), run(9, 12.0), run(5, 10.0)]), Some(run(5, 11.0)));
        assert_eq!(median(&[run(9, 1.0), run(5, 2.0)]), Some(run(5, 1.0)));
        assert_eq!(median(&[]), None);
    }

    fn model() -> Vec<Cell> {
        figures(0, vec![10.0, 10.0])
    }

    fn figures(errors: u64, detection: Vec<f64>) -> Vec<Cell> {
        vec![Cell::Count(errors), Cell::Each(detection)]
    }
}
