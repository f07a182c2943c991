//! What the engine must do, told by what it does in a small world.

use std::num::NonZeroU32;

use super::test_support::{Bench, OWNER, POLICY, key, policy, rule};
use super::*;

const OPEN: GateSeen = GateSeen::Set(Gate::Open);
const CLOSED: GateSeen = GateSeen::Set(Gate::Closed);

mod beats;
mod blindness;
mod breaker;
mod called_off;
mod capacity;
mod ceiling;
mod dependencies;
mod edits;
mod efficacy;
mod flapping;
mod floor;
mod gates;
mod observe;
mod one_instant;
mod pauses;
mod rechecks;
mod restarts;
mod seats;
mod shared;
mod skip;
mod verdicts;
mod writes;
