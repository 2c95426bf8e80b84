//! Waiting longer and longer between tries, with jitter.

use std::time::Duration;

use super::Core;

/// The waits between the tries of one operation: from `first` doubling to `most`, each cut by up
/// to a half at random, so that nodes do not come back in step.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    most: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, most: Duration) -> Self {
        Self { next: first.min(most), most }
    }

    /// For calls that a tick or a run waits for.
    pub(crate) fn quick() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// For work that nothing waits for.
    pub(crate) fn relaxed() -> Self {
        Self::new(Duration::from_millis(200), Duration::from_secs(5))
    }

    pub(crate) fn next(&mut self, core: &Core) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.most);
        wait.mul_f64(0.5 + core.random_fraction() / 2.0)
    }
}
