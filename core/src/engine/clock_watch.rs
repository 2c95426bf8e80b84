//! Telling when clocks step or differ.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::Core;
use super::events::EventKind;
use super::misfire::Moment;
use super::plan::{Basis, Clocks};
use super::reading::Reading;
use super::table::Registration;
use crate::{JobId, Mark};

/// A jump of the wall clock, or a wake-up that is late, by more than this is a break in watching.
const TOLERANCE: Duration = Duration::from_secs(1);

/// Two nodes whose skews differ by less than this see the same one.
const ALIKE: Duration = Duration::from_secs(1);

/// What was told of the skew, so that it is told once.
#[derive(Debug, Default)]
pub(crate) struct SkewTold {
    skew: Mutex<Option<SignedDuration>>,
    /// Whether there is one: mostly not, and then that costs no lock.
    any: AtomicBool,
    backend: Mutex<bool>,
}

impl Core {
    /// Tells, once, that this node's clock and the backend's differ, or do so no more.
    pub(crate) fn tell_skew(&self, reading: &Reading) {
        let Some(skew) = reading.skew else {
            return;
        };
        let large = skew.exceeds(self.max_ahead);
        if !large && !self.skew_told.any.load(Ordering::Acquire) {
            return;
        }
        let mut told = self.skew_told.skew.lock().unwrap_or_else(PoisonError::into_inner);
        let news = match *told {
            None => large,
            Some(before) => !large || apart(skew.ahead, before) > TOLERANCE,
        };
        if !news {
            return;
        }
        *told = large.then_some(skew.ahead);
        self.skew_told.any.store(large, Ordering::Release);
        drop(told);
        if large {
            tracing::warn!(node = %self.node, ahead = %skew.ahead, "clock differs from the backend's");
        } else {
            tracing::info!(node = %self.node, ahead = %skew.ahead, "clock agrees with the backend's again");
        }
        self.event(None, EventKind::ClockSkew(skew));
    }

    /// A backend that tells no clock took a tick at its time: what was told of the skew is over.
    pub(crate) fn forget_skew(&self) {
        if self.skew_told.any.swap(false, Ordering::AcqRel) {
            *self.skew_told.skew.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Looks at a mark that another node moved: lies it ahead of this node's clock, and had that
    /// node the same skew as this one?
    pub(crate) fn look_at_mark(
        &self,
        registration: Registration,
        job: &JobId,
        mark: &Mark,
        reading: &Reading,
    ) {
        let ahead = mark.point.occurrence.at().duration_since(reading.wall);
        let far = ahead.is_positive() && ahead.unsigned_abs() > self.max_ahead;
        let news = self.table().entry(registration).is_some_and(|entry| {
            let told = std::mem::replace(&mut entry.mark_ahead, far);
            far && !told
        });
        if news {
            tracing::warn!(node = %self.node, %job, %ahead, "the mark is ahead of this node's clock");
            self.event(Some(job), EventKind::MarkAhead { by: ahead.unsigned_abs() });
        }
        let Some(skew) = reading.skew else {
            return;
        };
        let alike = mark.node != self.node
            && skew.exceeds(self.max_ahead)
            && mark.skew.is_some_and(|theirs| apart(skew.ahead, theirs) < ALIKE);
        let mut told = self.skew_told.backend.lock().unwrap_or_else(PoisonError::into_inner);
        let news = alike && !*told;
        *told = alike;
        drop(told);
        if news {
            tracing::warn!(node = %self.node, ahead = %skew.ahead, "other nodes differ from the backend's clock alike");
            self.event(None, EventKind::BackendClock(skew));
        }
    }
}

fn apart(a: SignedDuration, b: SignedDuration) -> Duration {
    a.checked_sub(b).unwrap_or(SignedDuration::MAX).unsigned_abs()
}

/// Watches the wall clock against the monotonic one, from wake to wake.
#[derive(Debug)]
pub(crate) struct Watch {
    wall: Timestamp,
    at: Instant,
    /// Since when nothing was overlooked, by both clocks.
    since: (Timestamp, Instant),
}

impl Watch {
    pub(crate) fn new(wall: Timestamp, at: Instant) -> Self {
        Self { wall, at, since: (wall, at) }
    }

    /// Takes note of a wake, which was due at `planned`. Tells by how much the wall clock was set
    /// since the last one (or the machine slept), if it was.
    pub(crate) fn wake(
        &mut self,
        wall: Timestamp,
        at: Instant,
        planned: Instant,
    ) -> Option<SignedDuration> {
        let passed = at.saturating_duration_since(self.at);
        let expected = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        let step = wall.duration_since(self.wall) - expected;
        let stepped = step.unsigned_abs() > TOLERANCE;
        let overslept = at.saturating_duration_since(planned) > TOLERANCE;
        if overslept || (stepped && step.is_positive()) {
            self.since = (wall, at);
        } else if stepped {
            // Set back: what is due from here on has not been overlooked.
            self.since.0 = self.since.0.min(wall);
        }
        (self.wall, self.at) = (wall, at);
        stepped.then_some(step)
    }

    /// The moments by the clocks that a job may be planned by: the node's own, and the backend's.
    pub(crate) fn moments(&self, core: &Core, clocks: Clocks) -> (Moment, Moment) {
        let since = self.since.0.as_millisecond();
        let since_by_server =
            core.meter.server_at(self.since.1).map(|server| server.as_millisecond());
        let watching_since = since_by_server.map_or(since, |server| since.min(server));
        let wall = Moment { now: clocks.passed(Basis::Wall), watching_since };
        let server = match (clocks.server, since_by_server) {
            (Some(now), Some(watching_since)) => Moment { now, watching_since },
            _ => wall,
        };
        // A node that was up all the time may come to such a tick only now: that far its clock may
        // be behind, and this node's ahead of the time, where nobody tells that.
        let apart = i64::try_from(core.max_ahead.as_millis()).unwrap_or(i64::MAX);
        let apart = if since_by_server.is_some() { apart } else { apart.saturating_mul(2) };
        let with_allowance = |moment: Moment| Moment {
            watching_since: moment.watching_since.saturating_sub(apart),
            ..moment
        };
        (with_allowance(wall), with_allowance(server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_forward_and_an_overslept_wake_break_the_watch_and_a_step_back_does_not() {
        let secs = Duration::from_secs;
        let (start, t0) = (Timestamp::UNIX_EPOCH + secs(1000), Instant::now());
        let mut watch = Watch::new(start, t0);
        assert_eq!(watch.wake(start + secs(10), t0 + secs(10), t0 + secs(10)), None);
        assert_eq!(watch.since.0, start);
        let by = watch.wake(start + secs(80), t0 + secs(20), t0 + secs(20));
        assert_eq!((by, watch.since.0), (Some(SignedDuration::from_secs(60)), start + secs(80)));
        let by = watch.wake(start + secs(30), t0 + secs(30), t0 + secs(30));
        assert_eq!((by, watch.since.0), (Some(SignedDuration::from_secs(-60)), start + secs(30)));
        assert_eq!(watch.wake(start + secs(125), t0 + secs(125), t0 + secs(40)), None);
        assert_eq!(watch.since.0, start + secs(125));
    }
}
