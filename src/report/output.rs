//! What is printed, in the form that was asked for.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use super::page::Page;
use super::{Picture, Table};

/// The form of what is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    #[default]
    Table,
    /// One JSON value
    Json,
    /// Comma-separated values with a header
    Csv,
    /// One page for a browser, with pictures
    Html,
}

/// Something to print in any form.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    title: String,
    preamble: String,
    table: Table,
    /// Where it holds more than people see.
    csv: Option<String>,
    json: Value,
    pictures: Vec<Picture>,
}

impl Report {
    /// A table, and the same as a value.
    pub fn new(table: Table, value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        Ok(Self { json: serde_json::to_value(value)?, ..Self::of_table(table) })
    }

    /// A table that nobody asks for as a value; as one it would be null.
    pub fn of_table(table: Table) -> Self {
        let (title, preamble, pictures) = Default::default();
        Self { title, preamble, table, csv: None, json: Value::Null, pictures }
    }

    /// What the report is about, as its page has it for a title.
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// More of what people are told before they see the table: lines that each end.
    pub fn with_preamble(mut self, lines: String) -> Self {
        self.preamble.push_str(&lines);
        self
    }

    /// What stands in place of the table's own comma-separated values.
    pub fn with_csv(self, csv: String) -> Self {
        Self { csv: Some(csv), ..self }
    }

    /// One more picture for the page.
    pub fn with_picture(mut self, picture: Picture) -> Self {
        self.pictures.push(picture);
        self
    }

    /// The report as a value.
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// Prints it.
    pub fn write(&self, output: Output, out: &mut impl Write) -> io::Result<()> {
        match output {
            Output::Table if self.preamble.is_empty() => self.table.write_text(out),
            Output::Table => {
                writeln!(out, "{}", self.preamble)?;
                self.table.write_text(out)
            }
            Output::Json => writeln!(out, "{:#}", self.json),
            Output::Csv => match &self.csv {
                Some(csv) => out.write_all(csv.as_bytes()),
                None => out.write_all(self.table.csv().as_bytes()),
            },
            Output::Html => self.page().write(out),
        }
    }

    fn page(&self) -> Page<'_> {
        let Self { title, preamble, table, json, pictures, .. } = self;
        Page { title, preamble, table, figures: json, pictures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(output: Output) -> String {
        let table = Table::new(["setting"], [vec!["no probes".to_owned()]]);
        let csv = Table::new(["setting", "in_loop"], [vec!["no probes".to_owned(), "0".to_owned()]]);
        let report = Report::new(table, &serde_json::json!([{"setting": "no probes"}])).unwrap();
        let mut out = Vec::new();
        report.with_preamble("So it is.\n".to_owned()).with_csv(csv.csv()).write(output, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn people_are_told_before_they_see_the_table() {
        assert!(printed(Output::Table).starts_with("So it is.\n\n| setting "));
    }

    #[test]
    fn machines_see_nothing_else() {
        assert_eq!(printed(Output::Csv), "setting,in_loop\nno probes,0\n");
        assert_eq!(printed(Output::Json), "[\n  {\n    \"setting\": \"no probes\"\n  }\n]\n");
    }
}
