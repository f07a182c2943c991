//! What is printed, in the form that was asked for.

use std::io::{self, Write};

use clap::ValueEnum;
use comfy_table::CellAlignment;
use comfy_table::presets::ASCII_MARKDOWN;

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
}

/// Something to print in any form.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What people are told before they see the table, if anything: lines that each end.
    pub preamble: String,
    /// The table that people see.
    pub table: Table,
    /// The table with everything in it.
    pub csv: Table,
    /// The same as a value.
    pub json: serde_json::Value,
}

/// Rows of cells that hold no commas, quotes or line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub header: Vec<&'static str>,
    /// The cells, one for each column.
    pub rows: Vec<Vec<String>>,
}

impl Report {
    /// Prints it.
    pub fn write(&self, output: Output, out: &mut impl Write) -> io::Result<()> {
        match output {
            Output::Table if self.preamble.is_empty() => self.table.write_text(out),
            Output::Table => {
                writeln!(out, "{}", self.preamble)?;
                self.table.write_text(out)
            }
            Output::Json => writeln!(out, "{:#}", self.json),
            Output::Csv => self.csv.write_csv(out),
        }
    }
}

impl Table {
    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(self.header.iter().map(|name| name.replace('_', " ")));
        table.add_rows(&self.rows);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(out, "{table}")
    }

    fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.header.join(","))?;
        for row in &self.rows {
            writeln!(out, "{}", row.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(preamble: &str, output: Output) -> String {
        let table = Table { header: vec!["setting", "in_loop"], rows: vec![vec!["no probes".into(), "0".into()]] };
        let json = serde_json::json!([{"setting": "no probes"}]);
        let report = Report { preamble: preamble.into(), table: table.clone(), csv: table, json };
        let mut out = Vec::new();
        report.write(output, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn people_see_blanks_and_figures_on_the_right() {
        let table = "| setting   | in loop |\n|-----------|---------|\n| no probes |       0 |\n";
        assert_eq!(printed("", Output::Table), table);
        assert_eq!(printed("So it is.\n", Output::Table), format!("So it is.\n\n{table}"));
    }

    #[test]
    fn machines_see_nothing_else() {
        assert_eq!(printed("So it is.\n", Output::Csv), "setting,in_loop\nno probes,0\n");
        assert_eq!(printed("So it is.\n", Output::Json), "[\n  {\n    \"setting\": \"no probes\"\n  }\n]\n");
    }
}
