//! What the engine's tests share: small policies, and a world of one call each.

use std::num::NonZeroU32;

use super::*;

/// A rule with that period in seconds and failure threshold; everything else as small as it may be.
pub(super) fn rule(period: u64, threshold: u32) -> Rule {
    Rule {
        question: Question(1),
        period: Span::from_secs(period),
        timeout: Span::from_secs(1),
        initial_delay: Span::ZERO,
        failure_threshold: NonZeroU32::new(threshold).unwrap(),
        success_threshold: NonZeroU32::MIN,
    }
}
