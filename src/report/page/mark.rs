//! What is drawn on a lane: bands and signs, which differ in shape and pattern and not only in colour.

use crate::engine::TransitionKind;
use crate::report::Decision;
use crate::scenario::TrueState;

/// What is marked on a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A restart of a stuck replica.
    Needed,
    /// A restart of any other.
    Needless,
    /// An ejection.
    Ejected,
}

impl Sign {
    pub const fn of(decision: &Decision) -> Option<Self> {
        match (decision.kind, decision.state) {
            (TransitionKind::Restarted, TrueState::Stuck) => Some(Self::Needed),
            (TransitionKind::Restarted, _) => Some(Self::Needless),
            (TransitionKind::Ejected, _) => Some(Self::Ejected),
            _ => None,
        }
    }

    /// Where on a lane's height the twenty pixels begin that hold the sign.
    pub const fn top(self) -> i32 {
        match self {
            Self::Needed | Self::Needless => -1,
            Self::Ejected => 21,
        }
    }

    /// The sign around a place on the lane: shapes differ, not only colours.
    pub fn at(self, x: f64) -> String {
        let [left, right] = [x - 6.0, x + 6.0];
        match self {
            Self::Needed => format!("<path class=\"needed\" d=\"M{left} 13L{x} 1L{right} 13z\"/>"),
            Self::Needless => format!("<path class=\"needless\" d=\"M{left} 13L{x} 1L{right} 13zM{left} 17h12\"/>"),
            Self::Ejected => format!("<path class=\"ejected\" d=\"M{left} 25L{x} 37L{right} 25z\"/>"),
        }
    }
}

/// A stretch of a lane.
pub struct Band {
    pub class: &'static str,
    pub left: f64,
    pub width: f64,
    pub top: f64,
    pub height: f64,
}

impl std::fmt::Display for Band {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { class, left, width, top, height } = self;
        write!(f, "<rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{width:.2}\" height=\"{height}\"/>")
    }
}
