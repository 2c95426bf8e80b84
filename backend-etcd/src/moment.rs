//! When something was sent.

use std::time::Duration;

use jiff::Timestamp;
use tidelock::{Clock, SystemClock};
use tokio::time::Instant;

/// A moment by both clocks of a node: the monotonic one stands still while a machine is suspended,
/// and a lease at the server does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    wall: Timestamp,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), wall: SystemClock.now() }
    }

    /// How long ago it was, at most. A wall clock that was set forward makes a lease look older than
    /// it is, which costs a keep-alive.
    pub(crate) fn until(self, now: Self) -> Duration {
        let monotonic = now.at.saturating_duration_since(self.at);
        monotonic.max(Duration::try_from(now.wall.duration_since(self.wall)).unwrap_or_default())
    }

    /// The later of the two.
    pub(crate) fn max(self, other: Self) -> Self {
        if other.at > self.at { other } else { self }
    }

    /// A moment later by the monotonic clock, as tests with paused time have it; and one after a
    /// suspend, which only the wall clock shows.
    #[cfg(test)]
    pub(crate) fn later(self, by: Duration, suspended: Duration) -> Self {
        Self { at: self.at + by, wall: self.wall + by + suspended }
    }
}
