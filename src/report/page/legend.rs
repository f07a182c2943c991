//! What colours, patterns and signs mean.

use std::io::{self, Write};

use super::mark::{Band, Sign};
use crate::scenario::TrueState;

/// A pattern for each true state, under its name.
const PATTERNS: &str = include_str!("patterns.svg");

/// Writes it, once for all runs of a page.
pub fn write(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>How to read the lanes</h2>\n{PATTERNS}<ul class=\"legend\">")?;
    for state in TrueState::ALL {
        let band = Band { class: state.name(), left: 0.0, width: 36.0, top: 8.0, height: 20.0 };
        writeln!(
            out,
            "<li><svg width=\"36\" height=\"20\" viewBox=\"0 8 36 20\" aria-hidden=\"true\">{band}</svg> {state}</li>"
        )?;
    }
    for (sign, meaning) in [
        (Sign::Needed, "restarted, and it was stuck"),
        (Sign::Needless, "restarted without need: it was not stuck"),
        (Sign::Ejected, "ejected from the pool"),
    ] {
        let drawn = sign.at(10.0);
        let top = sign.top();
        writeln!(
            out,
            "<li><svg width=\"20\" height=\"20\" viewBox=\"0 {top} 20 20\" aria-hidden=\"true\">{drawn}</svg> {meaning}</li>"
        )?;
    }
    let pool = Band { class: "in", left: 0.0, width: 36.0, top: 7.0, height: 5.0 };
    writeln!(
        out,
        "<li><svg width=\"36\" height=\"20\" aria-hidden=\"true\">{pool}</svg> the pool believes in it; without the line \
         it does not</li>\n</ul>\n</section>"
    )
}
