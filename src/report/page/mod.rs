//! A report as one page that needs nothing else: no network, no script, no font.
//!
//! Colour is never alone: what a lane shows by colour it shows by pattern and word too, what a map shows by colour it
//! shows by figure. Everything that a mark says when it is pointed at stands in a list below as well.

mod chart;
mod html;
mod lanes;
mod legend;
mod map;
mod mark;
mod scale;

use std::io::{self, Write};

use serde_json::Value;

use super::{Recording, Table};
use html::Json;
pub use html::Text;
pub use map::{Map, Mapped, Metric, Worse};

const STYLE: &str = include_str!("style.css");

/// What a page shows beside its table.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// A run: a lane for each replica to whom something happened, and the errors turn by turn.
    Run {
        /// What tells it from the other runs of the page.
        name: String,
        /// What happened.
        recording: Recording,
    },
    /// A sweep: a figure of every policy, by the values of its fields.
    Map(Map),
}

/// A page, before it is written.
pub struct Page<'a> {
    /// What it is about.
    pub title: &'a str,
    /// What people are told first: lines that each end.
    pub preamble: &'a str,
    /// The figures as people see them.
    pub table: &'a Table,
    /// The figures as a value, which the page holds for whoever reads it by program.
    pub figures: &'a Value,
    /// What it shows beside them.
    pub pictures: &'a [Picture],
}

impl Page<'_> {
    /// Writes it.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let title = Text(self.title);
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        )?;
        for line in self.preamble.lines().filter(|line| !line.is_empty()) {
            writeln!(out, "<p>{}</p>", Text(line))?;
        }
        for picture in self.pictures {
            match picture {
                Picture::Map(map) => map.write(out)?,
                Picture::Run { .. } => {}
            }
        }
        writeln!(out, "<section>\n<h2>Figures</h2>")?;
        self.table.write_html(out)?;
        writeln!(out, "</section>")?;
        if self.pictures.iter().any(|picture| matches!(picture, Picture::Run { .. })) {
            legend::write(out)?;
        }
        for (number, picture) in self.pictures.iter().enumerate() {
            match picture {
                Picture::Run { name, recording } => lanes::write(out, number, name, recording)?,
                Picture::Map(_) => {}
            }
        }
        writeln!(out, "</main>\n<script type=\"application/json\" id=\"figures\">{}</script>", Json(self.figures))?;
        writeln!(out, "</body>\n</html>")
    }
}
