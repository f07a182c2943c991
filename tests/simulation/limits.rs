//! What a whole controller may do in a second, in the worlds that limit it.

use std::num::NonZeroU32;

use probe_policy::engine::Engine;

/// The rules ask for about as much.
const ATTEMPTS: NonZeroU32 = NonZeroU32::new(14).unwrap();
/// Somebody has to wait now and then.
const WRITES: NonZeroU32 = NonZeroU32::new(3).unwrap();

#[derive(Clone, Copy)]
pub struct Limits {
    /// Attempts a second on average.
    pub attempts: Option<NonZeroU32>,
    /// Writes of gates a second on average.
    pub writes: Option<NonZeroU32>,
}

impl Limits {
    /// Those of one world.
    pub fn of(seed: u64) -> Self {
        Self { attempts: seed.is_multiple_of(3).then_some(ATTEMPTS), writes: seed.is_multiple_of(2).then_some(WRITES) }
    }

    pub fn engine(self) -> Engine {
        let mut engine = Engine::new();
        if let Some(attempts) = self.attempts {
            engine = engine.with_attempt_ceiling(attempts);
        }
        if let Some(writes) = self.writes {
            engine = engine.with_write_limit(writes);
        }
        engine
    }
}
