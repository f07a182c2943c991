//! From time to pixels.

use crate::engine::{Span, Time};
use crate::report::Recording;

/// Pixels of a turn, where there is room.
const TURN: f64 = 6.0;
/// The narrowest and the widest picture, in pixels.
const WIDTHS: (f64, f64) = (600.0, 6000.0);

/// Where the instants of a run lie on a line.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    width: f64,
    nanos: f64,
}

impl Scale {
    /// The scale of a run.
    pub fn of(recording: &Recording) -> Self {
        let width = (recording.losses().len() as f64 * TURN).clamp(WIDTHS.0, WIDTHS.1);
        Self { width, nanos: (recording.end().as_nanos() as f64).max(1.0) }
    }

    /// The width of the picture in pixels.
    pub const fn width(self) -> f64 {
        self.width
    }

    /// Where an instant lies, to a hundredth of a pixel.
    pub fn at(self, time: Time) -> f64 {
        (time.as_nanos() as f64 / self.nanos * self.width * 100.0).round() / 100.0
    }
}

/// The turns that an axis names: every first, second, fifth, tenth or so on, so that there are at most about twenty.
pub fn ticks(recording: &Recording) -> impl Iterator<Item = (u64, Time)> {
    let turns = recording.losses().len() as u64;
    let step = steps().find(|step| turns / step <= 20).unwrap_or(u64::MAX);
    let (first, turn) = (recording.turn_at(Time::ZERO), recording.turn());
    let begin = first.next_multiple_of(step);
    (0..).map(move |n| begin + n * step).take_while(move |number| *number < first + turns).map(move |number| {
        let since: Span = turn * (number - first);
        (number, Time::ZERO + since)
    })
}

/// 1, 2, 5, 10, 20, 50 and so on.
fn steps() -> impl Iterator<Item = u64> {
    (0..18).flat_map(|power| [1, 2, 5].map(|n| n * 10u64.pow(power)))
}
