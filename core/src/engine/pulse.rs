//! Signs of life, for `health`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Pulse {
    last_loop: Mutex<Option<Instant>>,
    last_good_call: Mutex<Option<Instant>>,
    /// Ticks that other nodes took.
    pub(crate) ticks_lost: AtomicU64,
    pub(crate) runs: AtomicU64,
    pub(crate) failed_calls: AtomicU64,
}

impl Pulse {
    pub(crate) fn looped(&self, at: Instant) {
        *self.last_loop.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    pub(crate) fn good_call(&self, at: Instant) {
        *self.last_good_call.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    pub(crate) fn since_loop(&self) -> Option<Duration> {
        self.last_loop.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed())
    }

    pub(crate) fn since_good_call(&self) -> Option<Duration> {
        self.last_good_call.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed())
    }
}

pub(crate) fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
