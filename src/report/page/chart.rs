//! Requests that came to nothing, turn by turn.

use std::io::{self, Write};

use super::scale::Scale;
use crate::engine::Time;
use crate::report::Recording;

/// Bars at most; of a longer run a bar stands for several turns.
const BARS: usize = 1200;
const HEIGHT: f64 = 60.0;

/// What a chart shows.
pub struct Series<'a> {
    /// What happened to the requests.
    pub name: &'static str,
    /// The class of its bars.
    pub class: &'static str,
    /// How many there were, turn by turn.
    pub counts: &'a [u64],
}

/// A bar for each turn that has any, below the lanes and on their scale.
pub fn write(out: &mut impl Write, recording: &Recording, scale: Scale, series: Series<'_>) -> io::Result<()> {
    let Series { name, class, counts } = series;
    let together = counts.len().div_ceil(BARS).max(1);
    let bars: Vec<u64> = counts.chunks(together).map(|turns| turns.iter().sum()).collect();
    let highest = bars.iter().copied().max().unwrap_or_default();
    write!(
        out,
        "<div class=\"row\"><span class=\"name\">{name}<small>{}</small></span>\
         <svg width=\"{}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{} requests {name}\">",
        if highest == 0 { "none".to_owned() } else { format!("at most {highest}") },
        scale.width(),
        counts.iter().sum::<u64>(),
    )?;
    let begin = |bar: usize| Time::ZERO + recording.turn() * (bar * together) as u64;
    for (bar, count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (left, right) = (scale.at(begin(bar)), scale.at(begin(bar + 1)));
        let height = (*count as f64 / highest as f64 * (HEIGHT - 4.0)).max(2.0);
        let turn = recording.turn_at(begin(bar));
        let turns = if together == 1 { format!("turn {turn}") } else { format!("{together} turns from {turn} on") };
        write!(
            out,
            "<rect class=\"{class}\" x=\"{left}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{height:.2}\" data-{class}=\"{count}\">\
             <title>{turns}: {count} requests {name}</title></rect>",
            HEIGHT - height,
            (right - left - 0.5).max(0.5),
        )?;
    }
    writeln!(out, "</svg></div>")
}
