//! A table: for people, and as comma-separated values.

use std::borrow::Cow;
use std::io::{self, Write};

use comfy_table::CellAlignment;
use comfy_table::presets::ASCII_MARKDOWN;

use super::page::Text;

/// The most characters of a cell that people see in text.
const WIDEST: usize = 100;

/// A header and rows with a cell for each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and rows.
    pub fn new<H: Into<String>>(
        header: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: rows.into_iter().collect() }
    }

    /// Writes it for people: blanks in the header, everything but the first column on the right, of a long list the
    /// beginning.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(self.header.iter().map(|name| name.replace('_', " ")));
        table.add_rows(self.rows.iter().map(|row| row.iter().map(|cell| shortened(cell))));
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(out, "{table}")
    }

    /// Comma-separated values, as RFC 4180 quotes them, but with line feeds alone.
    pub fn csv(&self) -> String {
        csv_line(&self.header) + &self.csv_rows()
    }

    /// The same without the header.
    pub fn csv_rows(&self) -> String {
        self.rows.iter().map(|row| csv_line(row)).collect()
    }

    /// Writes it for a page; a cell is found by the name of its column.
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Figures\"><table id=\"table\">"
        )?;
        write!(out, "<thead><tr>")?;
        for name in &self.header {
            write!(out, "<th scope=\"col\">{}</th>", Text(name.replace('_', " ")))?;
        }
        writeln!(out, "</tr></thead><tbody>")?;
        for row in &self.rows {
            write!(out, "<tr>")?;
            for (name, cell) in self.header.iter().zip(row) {
                write!(out, "<td data-column=\"{}\">{}</td>", Text(name), Text(cell))?;
            }
            writeln!(out, "</tr>")?;
        }
        writeln!(out, "</tbody></table></div>")
    }
}

fn shortened(cell: &str) -> Cow<'_, str> {
    match cell.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}...", &cell[..end]).into(),
        None => cell.into(),
    }
}

fn csv_line(cells: &[String]) -> String {
    cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(cell: &str) -> Cow<'_, str> {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\"")).into()
    } else {
        cell.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_blanks_and_figures_on_the_right() {
        let table = Table::new(["setting", "in_loop"], [vec!["no probes".to_owned(), "0".to_owned()]]);
        let mut out = Vec::new();
        table.write_text(&mut out).unwrap();
        let expected = "| setting   | in loop |\n|-----------|---------|\n| no probes |       0 |\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn of_a_long_list_people_see_the_beginning() {
        let table = Table::new(["detection"], [vec!["2 ".repeat(50_000)]]);
        let mut out = Vec::new();
        table.write_text(&mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().ends_with(&format!("| {}... |\n", "2 ".repeat(50))));
    }

    #[test]
    fn what_would_break_a_row_is_quoted() {
        let table = Table::new(["file", "n"], [vec!["a,\"b\".yaml".to_owned(), "1".to_owned()]]);
        assert_eq!(table.csv(), "file,n\n\"a,\"\"b\"\".yaml\",1\n");
    }
}
