//! How the backend is set up.

use std::sync::Arc;
use std::time::Duration;

use tidelock::Clock;

use crate::MemoryBackend;

/// How much of a history is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How many runs, and how many entries about ticks that did not run.
    pub(crate) keep: usize,
    /// How long after an entry last changed.
    pub(crate) max_age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { keep: 100, max_age: Duration::from_secs(7 * 24 * 60 * 60) }
    }
}

/// Settings, for all clones.
impl MemoryBackend {
    /// How many runs of each job are kept; ticks that did not run are counted apart. Default: 100.
    #[must_use]
    pub fn keep(self, runs: usize) -> Self {
        self.set(|store| store.limits.keep = runs)
    }

    /// How long a record is kept after it last changed. Default: 7 days.
    #[must_use]
    pub fn max_age(self, age: Duration) -> Self {
        self.set(|store| store.limits.max_age = age)
    }

    /// The server's clock. Default: the machine's time when the backend was made, moved by tokio's
    /// time from then on.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        self.set(|store| store.clock = clock.clone())
    }
}
