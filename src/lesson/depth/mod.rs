//! The lesson "depth": what a health endpoint should ask, how often, and what that costs.

mod content;
mod detection;
mod load;
mod tables;

use super::comparison;
use content::Content;

/// How the lesson is run.
pub type Args = comparison::Args<Content, tables::Table>;
/// What is going to be done; it makes sense.
pub type Plan = comparison::Plan<Content, tables::Table>;
