//! A clock that tests move.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::Clock;

/// A clock over tokio's time, with skew, drift and steps.
///
/// Under paused time it moves with it, so that a year passes in a second. Clones are the same
/// clock; [`skewed`](Self::skewed) and [`drifting`](Self::drifting) give another node's view of
/// the same time.
///
/// ```
/// use tidelock::{Clock, TestClock};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let true_time = TestClock::new("2026-01-01T00:00:00Z".parse().unwrap());
/// let slow = true_time.skewed(jiff::SignedDuration::from_secs(-2));
/// tokio::time::sleep(std::time::Duration::from_secs(60)).await;
/// assert_eq!(true_time.now().to_string(), "2026-01-01T00:01:00Z");
/// assert_eq!(slow.now().to_string(), "2026-01-01T00:00:58Z");
/// slow.step(jiff::SignedDuration::from_secs(2)); // NTP sets it right
/// assert_eq!(slow.now(), true_time.now());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TestClock {
    start: Timestamp,
    started: Instant,
    drift_ppm: i64,
    /// Nanoseconds ahead of the true time.
    offset: Arc<AtomicI64>,
}

impl TestClock {
    /// A clock that shows `start` now.
    pub fn new(start: Timestamp) -> Self {
        Self { start, started: Instant::now(), drift_ppm: 0, offset: Arc::default() }
    }

    /// Another clock over the same time, ahead of this one by `by` (behind, if negative).
    #[must_use]
    pub fn skewed(&self, by: SignedDuration) -> Self {
        let other = Self { offset: Arc::default(), ..self.clone() };
        other.offset.store(self.offset.load(Ordering::Relaxed), Ordering::Relaxed);
        other.step(by);
        other
    }

    /// Another clock over the same time that runs too fast by `ppm` millionths (too slow, if
    /// negative), counted from when the first one was made.
    #[must_use]
    pub fn drifting(&self, ppm: i64) -> Self {
        Self { drift_ppm: ppm, ..self.skewed(SignedDuration::ZERO) }
    }

    /// Sets the clock forward by `by` (back, if negative): in all by no more than 292 years.
    pub fn step(&self, by: SignedDuration) {
        let most = if by.is_negative() { i64::MIN } else { i64::MAX };
        let nanos = i64::try_from(by.as_nanos()).unwrap_or(most);
        let moved = |offset: i64| Some(offset.saturating_add(nanos));
        // It always moves: there is no error.
        let _ = self.offset.fetch_update(Ordering::Relaxed, Ordering::Relaxed, moved);
    }
}

impl TestClock {
    /// What it shows that long after it was made, that many nanoseconds ahead.
    fn in_128_bits(&self, elapsed: Duration, offset: i64) -> Timestamp {
        let passed = i128::try_from(elapsed.as_nanos()).unwrap_or(i128::MAX);
        let drift = passed.saturating_mul(i128::from(self.drift_ppm)) / 1_000_000;
        let moved = passed.saturating_add(drift).saturating_add(i128::from(offset));
        let nanos = self.start.as_nanosecond().saturating_add(moved);
        let most = if nanos < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::from_nanosecond(nanos).unwrap_or(most)
    }

    /// The same in 64 bits, where it is not centuries away: a simulation reads clocks more often than
    /// it does anything else.
    fn in_64_bits(&self, elapsed: Duration, offset: i64) -> Option<Timestamp> {
        const PPM: i64 = 1_000_000;
        const SECOND: i64 = 1_000_000_000;
        let passed = i64::try_from(elapsed.as_secs()).ok()?.checked_mul(SECOND)?;
        let passed = passed.checked_add(i64::from(elapsed.subsec_nanos()))?;
        let drifted = (passed / PPM).checked_mul(self.drift_ppm)?;
        let drifted = drifted.checked_add((passed % PPM).checked_mul(self.drift_ppm)? / PPM)?;
        let moved = passed.checked_add(drifted)?.checked_add(offset)?;
        let nanos = moved.checked_add(i64::from(self.start.subsec_nanosecond()))?;
        let second = self.start.as_second().checked_add(nanos.div_euclid(SECOND))?;
        Timestamp::new(second, i32::try_from(nanos.rem_euclid(SECOND)).ok()?).ok()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let elapsed = self.started.elapsed();
        let offset = self.offset.load(Ordering::Relaxed);
        if let Some(now) = self.in_64_bits(elapsed, offset) {
            return now;
        }
        self.in_128_bits(elapsed, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_shows_the_same_in_64_bits_as_in_128() {
        for start in ["2026-01-01T00:00:00.9Z", "1969-12-31T23:59:59.000000001Z"] {
            let clock = TestClock::new(start.parse().unwrap());
            for elapsed in [0, 999_999, 1_000_001, 123_456_789_000_001, 86_400_000_000_000] {
                let elapsed = Duration::from_nanos(elapsed);
                for by in [0, 1, -1, 999_999_999, -86_400_000_000_123] {
                    for ppm in [0, 1, -1, 499, -500, 1_000_000, i64::MAX] {
                        let clock = clock.drifting(ppm);
                        let right = clock.in_128_bits(elapsed, by);
                        let found = clock.in_64_bits(elapsed, by);
                        assert!(found.is_none_or(|found| found == right), "{by} {ppm}");
                        assert!(found.is_some() || ppm == i64::MAX, "{by} {ppm}");
                    }
                }
            }
        }
    }
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_centuries_off_is_off_in_the_direction_that_was_said() {
        let clock = TestClock::new("2026-01-01T00:00:00Z".parse().unwrap());
        let year = |by| clock.skewed(by).now().strftime("%Y").to_string();
        assert_eq!(year(SignedDuration::MIN), "1733");
        assert_eq!(year(SignedDuration::MAX), "2318");
        let moved = clock.skewed(SignedDuration::MIN);
        moved.step(SignedDuration::MIN);
        assert_eq!(moved.now().strftime("%Y").to_string(), "1733");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(clock.drifting(i64::MIN).now(), Timestamp::MIN);
        assert_eq!(clock.drifting(i64::MAX).now(), Timestamp::MAX);
        let elapsed = Duration::MAX;
        assert_eq!(clock.drifting(i64::MIN).in_128_bits(elapsed, i64::MIN), Timestamp::MIN);
        assert_eq!(clock.drifting(i64::MAX).in_128_bits(elapsed, i64::MAX), Timestamp::MAX);
    }
}
