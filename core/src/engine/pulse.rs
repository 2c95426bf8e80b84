//! Signs of life, for `health`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct Pulse {
    started: Instant,
    last_loop: Sign,
    last_good_call: Sign,
    /// Ticks that other nodes took.
    pub(crate) ticks_lost: AtomicU64,
    pub(crate) runs: AtomicU64,
    pub(crate) failed_calls: AtomicU64,
}

/// When something was last seen, in milliseconds after the start, plus one; 0: never. It is seldom
/// another number than before: threads do not get into each other's way over it.
#[derive(Debug, Default)]
struct Sign(AtomicU64);

impl Default for Pulse {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            last_loop: Sign::default(),
            last_good_call: Sign::default(),
            ticks_lost: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            failed_calls: AtomicU64::new(0),
        }
    }
}

impl Pulse {
    pub(crate) fn looped(&self, at: Instant) {
        self.see(&self.last_loop, at);
    }

    pub(crate) fn good_call(&self, at: Instant) {
        self.see(&self.last_good_call, at);
    }

    pub(crate) fn since_loop(&self) -> Option<Duration> {
        self.since(&self.last_loop)
    }

    pub(crate) fn since_good_call(&self) -> Option<Duration> {
        self.since(&self.last_good_call)
    }

    fn see(&self, sign: &Sign, at: Instant) {
        let ms = u64::try_from(at.saturating_duration_since(self.started).as_millis());
        let seen = ms.unwrap_or(u64::MAX).saturating_add(1);
        if sign.0.load(Ordering::Relaxed) < seen {
            sign.0.fetch_max(seen, Ordering::Relaxed);
        }
    }

    fn since(&self, sign: &Sign) -> Option<Duration> {
        let ms = sign.0.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.started.elapsed().saturating_sub(Duration::from_millis(ms)))
    }
}

pub(crate) fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
