//! How far this node's clock stands from the backend's.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// How far a node's clock stands ahead of the backend's (behind, if negative).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skew {
    /// By how much.
    pub ahead: SignedDuration,
    /// Plus or minus: half the round trip in which it was measured.
    pub uncertainty: Duration,
}

impl Skew {
    /// Whether it is more than `limit` in either direction, whatever the uncertainty.
    pub(crate) fn exceeds(&self, limit: Duration) -> bool {
        self.ahead.unsigned_abs() > limit.saturating_add(self.uncertainty)
    }
}

/// What the backend's clock showed at a monotonic instant.
#[derive(Clone, Copy, Debug)]
struct Sample {
    server: Timestamp,
    at: Instant,
    uncertainty: Duration,
}

/// A better sample is kept that long before a worse one takes its place: crystals drift.
const GOOD_FOR: Duration = Duration::from_secs(60);

/// Reads the backend's clock between its answers, by the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct SkewMeter(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    sample: Option<Sample>,
    /// When an answer last told it.
    heard: Option<Instant>,
}

impl SkewMeter {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what an answer told: the backend's clock somewhere between sending and receiving.
    /// Tells what it shows when that was received, as [`at`](Self::at) does.
    pub(crate) fn observe(
        &self,
        sent: Instant,
        received: Instant,
        server: Timestamp,
    ) -> (Timestamp, Duration) {
        let uncertainty = received.saturating_duration_since(sent) / 2;
        let new = Sample { server, at: sent + uncertainty, uncertainty };
        let mut known = self.known();
        known.heard = Some(received);
        let kept = known.sample.filter(|old| {
            let apart = || new.server.duration_since(read(*old, new.at)).unsigned_abs();
            old.uncertainty < new.uncertainty
                && received.saturating_duration_since(old.at) < GOOD_FOR
                && apart() <= old.uncertainty + new.uncertainty
        });
        let sample = kept.unwrap_or(new);
        known.sample = Some(sample);
        drop(known);
        (read(sample, received), sample.uncertainty)
    }

    /// How long ago it was last heard; no time at all if never, so that nobody asks who has none.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        let heard = self.known().heard;
        heard.map_or(Duration::ZERO, |at| now.saturating_duration_since(at))
    }

    /// What the backend's clock shows at that instant.
    pub(crate) fn server_at(&self, at: Instant) -> Option<Timestamp> {
        self.at(at).map(|(server, _)| server)
    }

    /// The same, with its uncertainty.
    pub(crate) fn at(&self, at: Instant) -> Option<(Timestamp, Duration)> {
        let sample = self.known().sample;
        sample.map(|sample| (read(sample, at), sample.uncertainty))
    }

    /// The skew of a wall clock that shows `wall` at `at`.
    pub(crate) fn skew(&self, wall: Timestamp, at: Instant) -> Option<Skew> {
        let sample = self.known().sample?;
        let ahead = wall.duration_since(read(sample, at));
        Some(Skew { ahead, uncertainty: sample.uncertainty })
    }
}

fn read(sample: Sample, at: Instant) -> Timestamp {
    let moved = match at.checked_duration_since(sample.at) {
        Some(passed) => later(sample.server, passed),
        None => {
            let before = sample.at.saturating_duration_since(at);
            let before = SignedDuration::try_from(before).unwrap_or(SignedDuration::MAX);
            sample.server.checked_sub(before).ok()
        }
    };
    moved.unwrap_or(sample.server)
}

/// `at + passed`, where that is a time. By hand: clocks are read more often than anything else is
/// done, and the general way costs as much as reading one.
fn later(at: Timestamp, passed: Duration) -> Option<Timestamp> {
    let nanos = at.subsec_nanosecond() + i32::try_from(passed.subsec_nanos()).ok()?;
    let (carry, nanos) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let seconds = i64::try_from(passed.as_secs()).ok()?.checked_add(i64::from(carry))?;
    Timestamp::new(at.as_second().checked_add(seconds)?, nanos).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_does_not_spoil_a_good_measurement_but_a_step_replaces_it() {
        let meter = SkewMeter::default();
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let t0 = Instant::now();
        let ms = Duration::from_millis;
        meter.observe(t0, t0 + ms(2), start);
        assert_eq!(meter.server_at(t0 + ms(1)), Some(start));
        // Half a second under way: says the same within its uncertainty.
        meter.observe(t0, t0 + ms(500), start + ms(20));
        let skew = meter.skew(start + ms(41), t0 + ms(1)).unwrap();
        assert_eq!((skew.ahead.as_millis(), skew.uncertainty), (41, ms(1)));
        // The backend's clock was set an hour forward.
        meter.observe(t0, t0 + ms(500), start + Duration::from_secs(3600));
        assert!(meter.skew(start, t0).unwrap().exceeds(Duration::from_secs(3000)));
    }

    #[test]
    fn later_is_the_sum_on_either_side_of_1970_and_nothing_past_the_end_of_time() {
        for start in ["2026-01-01T00:00:00.9Z", "1969-12-31T23:59:58.000000001Z"] {
            let start: Timestamp = start.parse().unwrap();
            for nanos in [0, 1, 100_000_000, 999_999_999, 1_000_000_000, 86_400_123_456_789] {
                let passed = Duration::from_nanos(nanos);
                assert_eq!(later(start, passed), start.checked_add(passed).ok(), "{start} {nanos}");
            }
            assert_eq!(later(start, Duration::MAX), None);
            assert_eq!(later(Timestamp::MAX, Duration::from_secs(1)), None);
        }
    }
}
