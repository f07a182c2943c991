//! The picture of a sweep: a map for each figure, coloured from good to bad, with the policies on the front marked.

use std::io::{self, Write};

use super::html::Text;
/// Shades of a map.
const SHADES: f64 = 8.0;

/// A sweep: the fields that were varied, and what came of each policy that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The varied fields, each with its values.
    pub fields: Vec<(String, Vec<String>)>,
    /// The figures that are shown.
    pub metrics: Vec<Metric>,
    /// The policies that were run.
    pub policies: Vec<Mapped>,
}

/// A figure that a map shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its decimals.
    pub decimals: usize,
    /// Which figures are bad.
    pub worse: Worse,
}

/// Which figures are bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// The greater ones.
    More,
    /// The smaller ones.
    Less,
}

/// A policy on a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    /// For each varied field the place of its value.
    pub places: Vec<usize>,
    /// For each metric the figure; none is worse than any.
    pub figures: Vec<Option<f64>>,
    /// Whether it is on the front.
    pub on_front: bool,
}

impl Map {
    /// Writes a map for each figure. The last field runs from left to right, the one before it from top to bottom;
    /// every combination of the others has a map of its own.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Some((across, rest)) = self.fields.split_last() else { return Ok(()) };
        let (down, others) = rest.split_last().map_or((None, rest), |(down, others)| (Some(down), others));
        writeln!(
            out,
            "<section>\n<h2>Maps</h2>\n<p>From best <span class=\"shades\" aria-hidden=\"true\">{}</span> to worst. ★ and a \
             frame: nobody detects faster with as few needless restarts, and nobody has fewer with as fast a detection \
             (the Pareto front).</p>",
            (0..SHADES as u8).map(|shade| format!("<i class=\"h{shade}\"></i>")).collect::<String>()
        )?;
        for (number, metric) in self.metrics.iter().enumerate() {
            let shades = Shades::of(metric.worse, self.policies.iter().filter_map(|policy| policy.figure(number)));
            writeln!(out, "<h3>{}</h3>\n<div class=\"maps\">", metric.name)?;
            let mut maps = self.policies.chunk_by(|a, b| a.places[..others.len()] == b.places[..others.len()]);
            maps.try_for_each(|policies| {
                let fixed: Vec<_> = others
                    .iter()
                    .zip(&policies[0].places)
                    .map(|((field, values), place)| format!("{field} = {}", values[*place]))
                    .collect();
                One { across, down, fixed: fixed.join(", "), policies, metric, number, shades: &shades }.write(out)
            })?;
            writeln!(out, "</div>")?;
        }
        writeln!(out, "</section>")
    }
}

/// One map.
struct One<'a> {
    across: &'a (String, Vec<String>),
    down: Option<&'a (String, Vec<String>)>,
    /// What the fields that are neither across nor down are.
    fixed: String,
    policies: &'a [Mapped],
    metric: &'a Metric,
    /// The metric's place.
    number: usize,
    shades: &'a Shades,
}

impl One<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (across, values) = self.across;
        writeln!(
            out,
            "<div class=\"scroll map\" tabindex=\"0\" role=\"group\" aria-label=\"{}\"><table>",
            self.metric.name
        )?;
        if !self.fixed.is_empty() {
            writeln!(out, "<caption>{}</caption>", Text(&self.fixed))?;
        }
        let corner = self.down.map_or(String::new(), |(down, _)| format!("{down} ↓ "));
        write!(out, "<tr><th class=\"corner\">{}{} →</th>", Text(corner), Text(across))?;
        for value in values {
            write!(out, "<th scope=\"col\">{}</th>", Text(value))?;
        }
        writeln!(out, "</tr>")?;
        for (row, name) in self.rows() {
            write!(out, "<tr><th scope=\"row\">{}</th>", Text(name))?;
            for column in 0..values.len() {
                self.write_cell(out, row, column)?;
            }
            writeln!(out, "</tr>")?;
        }
        writeln!(out, "</table></div>")
    }

    /// The places of the rows and their names; one without a name if there is but one field.
    fn rows(&self) -> Vec<(Option<usize>, &str)> {
        match self.down {
            Some((_, values)) => values.iter().enumerate().map(|(row, name)| (Some(row), name.as_str())).collect(),
            None => vec![(None, "")],
        }
    }

    fn write_cell(&self, out: &mut impl Write, row: Option<usize>, column: usize) -> io::Result<()> {
        let is_here = |policy: &&Mapped| match (policy.places[..].split_last(), row) {
            (Some((at, before)), row) => *at == column && (row.is_none() || before.last().copied() == row),
            (None, _) => false,
        };
        let Some(policy) = self.policies.iter().find(is_here) else { return write!(out, "<td>not run</td>") };
        let Some(figure) = policy.figure(self.number) else { return write!(out, "<td class=\"h7\">never</td>") };
        let (class, star) = if policy.on_front { (" front", "★ ") } else { ("", "") };
        let shade = self.shades.shade(figure);
        write!(out, "<td class=\"h{shade}{class}\">{star}{figure:.*}</td>", self.metric.decimals)
    }
}

impl Mapped {
    fn figure(&self, metric: usize) -> Option<f64> {
        self.figures.get(metric).copied().flatten()
    }
}

/// How the figures of a metric are coloured.
struct Shades {
    best: f64,
    worst: f64,
}

impl Shades {
    fn of(worse: Worse, figures: impl Iterator<Item = f64>) -> Self {
        let (least, most) = figures
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), figure| (least.min(figure), most.max(figure)));
        match worse {
            Worse::More => Self { best: least, worst: most },
            Worse::Less => Self { best: most, worst: least },
        }
    }

    /// From 0, the best, to 7, the worst.
    fn shade(&self, figure: f64) -> u8 {
        let range = self.worst - self.best;
        let badness = if range == 0.0 { 0.0 } else { (figure - self.best) / range };
        (badness * SHADES).min(SHADES - 1.0) as u8
    }
}
