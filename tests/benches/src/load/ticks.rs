//! Ticks that nobody has asked for yet.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;

use super::{now, random};

/// Ticks a millisecond apart, from long ago on, so that none is ever too early.
#[derive(Debug)]
pub(crate) struct Ticks {
    next: AtomicI64,
}

impl Ticks {
    pub(crate) fn new() -> Self {
        let first = (now() - SignedDuration::from_hours(3)).as_millisecond();
        Self { next: AtomicI64::new(first) }
    }

    /// The next one, and a number that is its own.
    pub(crate) fn next(&self) -> (i64, u128) {
        let tick = self.next.fetch_add(1, Ordering::Relaxed);
        (tick, random(tick))
    }
}
