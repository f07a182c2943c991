//! Failed requests, turn by turn.

use std::io::{self, Write};

use super::scale::Scale;
use crate::engine::Time;
use crate::report::Recording;

/// Bars at most; of a longer run a bar stands for several turns.
const BARS: usize = 1200;
const HEIGHT: f64 = 60.0;

/// A bar for each turn that had errors, below the lanes and on their scale.
pub fn write_errors(out: &mut impl Write, recording: &Recording, scale: Scale) -> io::Result<()> {
    let errors = recording.errors();
    let together = errors.len().div_ceil(BARS).max(1);
    let bars: Vec<u64> = errors.chunks(together).map(|turns| turns.iter().sum()).collect();
    let highest = bars.iter().copied().max().unwrap_or_default();
    let total: u64 = errors.iter().sum();
    write!(
        out,
        "<div class=\"row errors\"><span class=\"name\">errors<small>{}</small></span>\
         <svg width=\"{}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{total} failed requests\">",
        if highest == 0 { "none".to_owned() } else { format!("at most {highest}") },
        scale.width()
    )?;
    let begin = |bar: usize| Time::ZERO + recording.turn() * (bar * together) as u64;
    for (bar, errors) in bars.iter().enumerate().filter(|(_, errors)| **errors > 0) {
        let (left, right) = (scale.at(begin(bar)), scale.at(begin(bar + 1)));
        let height = (*errors as f64 / highest as f64 * (HEIGHT - 4.0)).max(2.0);
        let turn = recording.turn_at(begin(bar));
        let turns = if together == 1 { format!("turn {turn}") } else { format!("{together} turns from {turn} on") };
        write!(
            out,
            "<rect class=\"error\" x=\"{left}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{height:.2}\" data-errors=\"{errors}\">\
             <title>{turns}: {errors} failed requests</title></rect>",
            HEIGHT - height,
            (right - left - 0.5).max(0.5),
        )?;
    }
    writeln!(out, "</svg></div>")
}
