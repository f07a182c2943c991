//! Cells that are rounded when they are printed, and only then.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Report, Table};

/// A value in a table.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Cell {
    /// A word.
    Text(Cow<'static, str>),
    /// A number of things.
    Count(u64),
    /// A figure, printed with as few digits as tell it from every other one.
    Exact(f64),
    /// A figure, printed with so many decimals; an exact tie goes up.
    Decimals(f64, usize),
    /// Figures one after the other, each printed whole or with two decimals.
    Each(Vec<f64>),
    /// By how much each of them differs, printed with its sign and two decimals.
    Changes(Vec<f64>),
    /// By how much a figure differs, printed with its sign and so many decimals.
    Change(f64, usize),
    /// No figure, and the word that is printed for it.
    Nothing(&'static str),
}

/// A report of rows under a header. As values each row is an object with the names of the columns.
pub fn of_cells<const N: usize>(header: [&'static str; N], rows: &[[Cell; N]]) -> Result<Report, serde_json::Error> {
    let table = Table::new(header, rows.iter().map(|row| row.iter().map(Cell::print).collect()));
    let object = |row: &[Cell; N]| {
        let fields = header.iter().zip(row).map(|(name, cell)| ((*name).to_owned(), cell.value()));
        Value::Object(Map::from_iter(fields))
    };
    Report::new(table, &rows.iter().map(object).collect::<Value>())
}

/// By how much figures differ from others of the same columns.
pub fn minus(figures: &[Cell], others: &[Cell]) -> Vec<Cell> {
    figures.iter().zip(others).map(|(figure, other)| figure.minus(other)).collect()
}

impl Cell {
    /// A word that is always the same.
    pub const fn text(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// By how much this differs from another one.
    fn minus(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Count(count), Self::Count(other)) => Self::Change(*count as f64 - *other as f64, 0),
            (Self::Exact(figure), Self::Exact(other)) => Self::Change(figure - other, 2),
            (Self::Decimals(figure, places), Self::Decimals(other, _)) => Self::Change(figure - other, *places),
            (Self::Each(figures), Self::Each(others)) if figures.len() == others.len() => {
                Self::Changes(figures.iter().zip(others).map(|(figure, other)| figure - other).collect())
            }
            (one, other) if one == other => Self::Change(0.0, 0),
            _ => Self::Nothing("n/a"),
        }
    }

    /// As it is printed.
    pub fn print(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Nothing(text) => (*text).to_owned(),
            Self::Count(count) => count.to_string(),
            Self::Exact(figure) => figure.to_string(),
            Self::Decimals(figure, places) => decimals(*figure, *places),
            Self::Change(figure, places) => signed(*figure, *places),
            Self::Each(figures) => list(figures, whole_or_two_decimals),
            Self::Changes(figures) => list(figures, |figure| signed(figure, 2)),
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Self::Text(text) => text.as_ref().into(),
            Self::Count(count) => (*count).into(),
            Self::Change(figure, 0) => (*figure as i64).into(),
            Self::Exact(figure) | Self::Decimals(figure, _) | Self::Change(figure, _) => (*figure).into(),
            Self::Each(figures) | Self::Changes(figures) => figures.as_slice().into(),
            Self::Nothing(_) => Value::Null,
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// A figure with so many decimals, an exact tie up. In binary64 a tie is an odd number of the halves, quarters, eighths...
/// that one more decimal has.
pub fn decimals(figure: f64, places: usize) -> String {
    let doublings = i32::try_from(places + 1).unwrap_or(i32::MAX);
    let is_tie = (figure * 2f64.powi(doublings) % 2.0).abs() == 1.0;
    format!("{:.places$}", if is_tie { figure.next_up() } else { figure })
}

fn list(figures: &[f64], print: impl Fn(f64) -> String) -> String {
    if figures.is_empty() { "-".to_owned() } else { figures.iter().map(|it| print(*it)).collect::<Vec<_>>().join(" ") }
}

fn whole_or_two_decimals(figure: f64) -> String {
    if figure.fract() == 0.0 { figure.to_string() } else { decimals(figure, 2) }
}

/// No difference has no sign.
fn signed(difference: f64, places: usize) -> String {
    let size = decimals(difference.abs(), places);
    match size.parse() {
        Ok(0.0) => {
            if places == 0 {
                "0".to_owned()
            } else {
                size
            }
        }
        _ if difference < 0.0 => format!("-{size}"),
        _ => format!("+{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Output;
    use super::*;

    #[test]
    fn an_exact_tie_goes_up_and_what_only_looks_like_one_does_not() {
        for (figure, places, printed) in [
            (7.125, 2, "7.13"),
            (0.375, 2, "0.38"),
            (1.005, 2, "1.00"), // binary64 holds less than that
            (2.5, 0, "3"),
            (3.5, 0, "4"),
            (0.25, 1, "0.3"),
            (9_007_199_254_740_992.0, 0, "9007199254740992"),
            (8.0, 2, "8.00"),
        ] {
            assert_eq!(decimals(figure, places), printed);
        }
    }

    #[test]
    fn figures_are_rounded_only_where_they_are_printed() {
        let row =
            [Cell::text("L4"), Cell::Count(3), Cell::Exact(2.98), Cell::Decimals(0.125, 2), Cell::Nothing("never")];
        let report = of_cells(["profile", "devices", "window_s", "mean_s", "worst_s"], &[row]).unwrap();
        let mut out = Vec::new();
        report.write(Output::Csv, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "profile,devices,window_s,mean_s,worst_s\nL4,3,2.98,0.13,never\n");
        let value = serde_json::json!([
            {"profile": "L4", "devices": 3, "window_s": 2.98, "mean_s": 0.125, "worst_s": null},
        ]);
        assert_eq!(*report.json(), value);
    }
}
