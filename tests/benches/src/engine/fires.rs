//! What handlers count: that they ran, and how late.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tidelock::{Clock, SystemClock};

/// The calls of all jobs' handlers. Each job has a due instant; lateness is counted from it.
pub(super) struct Fires {
    /// Microseconds since 1970; `None`: what that job does is not looked at.
    due: Vec<Option<i64>>,
    times: Vec<AtomicU32>,
    /// Of the last call, in microseconds.
    late: Vec<AtomicU32>,
}

impl Fires {
    /// For one job each due instant, in seconds since 1970; `None` for jobs that are not watched.
    pub(super) fn new(due: impl Iterator<Item = Option<i64>>) -> Arc<Self> {
        let due: Vec<_> = due.map(|second| second.map(|second| second * 1_000_000)).collect();
        let zeros = || due.iter().map(|_| AtomicU32::new(0)).collect();
        Arc::new(Self { times: zeros(), late: zeros(), due })
    }

    /// What a handler does: all of it.
    pub(super) fn fired(&self, job: usize) {
        let Some(due) = self.due[job] else { return };
        let late = now_us() - due;
        self.late[job].store(u32::try_from(late).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.times[job].fetch_add(1, Ordering::Relaxed);
    }

    /// How many jobs fired.
    pub(super) fn count(&self) -> usize {
        self.times.iter().filter(|times| times.load(Ordering::Relaxed) > 0).count()
    }

    /// How many jobs fired more than once.
    pub(super) fn repeated(&self) -> usize {
        self.times.iter().filter(|times| times.load(Ordering::Relaxed) > 1).count()
    }

    /// Milliseconds from the due instant, of all jobs that fired.
    pub(super) fn late_ms(&self) -> Vec<f64> {
        let fired = self.times.iter().zip(&self.late);
        let fired = fired.filter(|(times, _)| times.load(Ordering::Relaxed) > 0);
        fired.map(|(_, late)| f64::from(late.load(Ordering::Relaxed)) / 1e3).collect()
    }
}

/// Microseconds since 1970.
pub(super) fn now_us() -> i64 {
    SystemClock.now().as_microsecond()
}
