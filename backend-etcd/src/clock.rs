//! The clock of a member, as far as it shows: etcd's calls tell none, but its HTTP answers carry
//! `Date`, in whole seconds.
//!
//! It bounds what a node whose own clock is far ahead can do: a tick that it takes too early is one
//! that no node runs at its time. A tick that is more than its `max_ahead` and
//! [two seconds](COARSE) ahead of the member's clock is held back.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{Clock, Occurrence, Spawner, SystemClock, TokioSpawner};
use tokio::time::Instant;

use crate::connection::Wire;
use crate::http;
use crate::tls::Tls;

/// What whole seconds, and members that differ a little, may hide.
const COARSE: SignedDuration = SignedDuration::from_secs(2);
/// How long a look at the clock serves.
const SERVES: Duration = Duration::from_secs(60);
/// So long after a look that showed nothing another one is taken, while none ever showed anything.
const AGAIN: Duration = Duration::from_secs(5);
/// A look that is younger is not taken again to make sure.
const JUST_NOW: Duration = Duration::from_secs(1);
/// A wall clock that went on by as much more or less than time did has been stepped.
const STEP: SignedDuration = SignedDuration::from_secs(1);
/// A node whose own clock is further off writes the member's time into records.
const FAR_OFF: SignedDuration = SignedDuration::from_secs(10);

/// The members' clock, as last seen.
pub(crate) struct ServerClock {
    wire: Arc<Wire>,
    tls: Tls,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    seen: Option<Seen>,
    tried: Option<Instant>,
}

/// One look at the clock.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// What it showed, rounded down to a second.
    date: Timestamp,
    /// When it was asked, by tokio's time and by the node's own clock.
    asked: Instant,
    asked_wall: Timestamp,
}

impl Seen {
    /// The latest that it can show by now: what moves a node's own clock does not move this.
    fn latest(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.asked.elapsed()).unwrap_or(SignedDuration::MAX);
        let coarse = SignedDuration::from_secs(1);
        self.date.saturating_add(since + coarse).unwrap_or(Timestamp::MAX)
    }

    fn is_stepped(&self, wall: Timestamp) -> bool {
        let since = SignedDuration::try_from(self.asked.elapsed()).unwrap_or(SignedDuration::MAX);
        (wall.duration_since(self.asked_wall) - since).abs() > STEP
    }
}

impl ServerClock {
    pub(crate) fn new(wire: Arc<Wire>, tls: Tls) -> Self {
        Self { wire, tls, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For how long a tick is to be held back; `None` where it is not, or where no member tells.
    pub(crate) async fn too_early(
        self: &Arc<Self>,
        tick: Occurrence,
        max_ahead: Duration,
    ) -> Option<Duration> {
        self.wire.endpoint()?;
        match self.tried() {
            None => self.look().await,
            Some(tried) if tried.elapsed() > self.serves() || self.is_stepped() => {
                self.known().tried = Some(Instant::now());
                let clock = self.clone();
                TokioSpawner.spawn(Box::pin(async move { clock.look().await }));
            }
            Some(_) => {}
        }
        let (_, asked) = self.by(tick, max_ahead)?;
        if asked.elapsed() > JUST_NOW || self.is_stepped() {
            self.look().await;
        }
        // Nothing is held back by a look from before, say, a suspend, which stops the time that is
        // counted from it: no member may show its clock any more.
        if self.is_stepped() {
            return None;
        }
        self.by(tick, max_ahead).map(|(by, _)| by)
    }

    fn by(&self, tick: Occurrence, max_ahead: Duration) -> Option<(Duration, Instant)> {
        let seen = self.known().seen?;
        let allowed = SignedDuration::try_from(max_ahead).unwrap_or(SignedDuration::MAX);
        let ahead = tick.at().duration_since(seen.latest());
        let by = ahead.saturating_sub(allowed.saturating_add(COARSE));
        (by > SignedDuration::ZERO).then(|| (by.unsigned_abs(), seen.asked))
    }

    /// For how long there is no need for another look.
    fn serves(&self) -> Duration {
        if self.is_known() { SERVES } else { AGAIN }
    }

    fn tried(&self) -> Option<Instant> {
        self.known().tried
    }

    fn is_stepped(&self) -> bool {
        let seen = self.known().seen;
        seen.is_some_and(|seen| seen.is_stepped(SystemClock.now()))
    }

    /// Asks a member. Whether it tells is seen by [`is_known`](Self::is_known).
    pub(crate) async fn look(&self) {
        let Some(endpoint) = self.wire.endpoint().map(str::to_owned) else {
            return;
        };
        let (asked, asked_wall) = (Instant::now(), SystemClock.now());
        self.known().tried = Some(asked);
        let within = self.wire.timeouts.connect;
        match http::get(&endpoint, "/version", &self.tls, within).await {
            Ok(page) => {
                let date = page.date;
                self.known().seen = date.map(|date| Seen { date, asked, asked_wall });
            }
            Err(error) => {
                tracing::debug!(endpoint, error, "the member's clock is not to be seen");
            }
        }
    }

    pub(crate) fn tls(&self) -> &Tls {
        &self.tls
    }

    /// Whether a member has told its clock.
    pub(crate) fn is_known(&self) -> bool {
        self.known().seen.is_some()
    }

    /// Milliseconds since 1970 to write into records: by the node's clock, unless that is far off.
    pub(crate) fn now_ms(&self) -> i64 {
        let wall = SystemClock.now();
        let seen = self.known().seen.filter(|seen| !seen.is_stepped(wall));
        let latest = seen.map(|seen| seen.latest());
        let off = latest.filter(|latest| wall.duration_since(*latest).abs() > FAR_OFF);
        off.unwrap_or(wall).as_millisecond()
    }
}

impl fmt::Debug for ServerClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerClock").field("known", &*self.known()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use etcd_client::ConnectOptions;

    use super::*;
    use crate::connection::Timeouts;

    /// A clock whose members show theirs no more, after a look that showed that it is so much
    /// earlier, while the node's own clock has gone on by so much that no time was counted for.
    async fn held_back(earlier: SignedDuration, suspended: SignedDuration) -> Option<Duration> {
        let within = Duration::from_millis(200);
        let timeouts = Timeouts { connect: within, operation: within };
        let endpoint = vec!["http://127.0.0.1:1".into()];
        let wire = Arc::new(Wire::new(endpoint, 0, ConnectOptions::new(), timeouts));
        let clock = Arc::new(ServerClock::new(wire, Tls::default()));
        let (asked, wall) = (Instant::now(), SystemClock.now());
        let seen = Seen { date: wall - earlier, asked, asked_wall: wall - suspended };
        *clock.known() = Known { seen: Some(seen), tried: Some(asked) };
        let tick = Occurrence::from_millisecond(wall.as_millisecond()).unwrap();
        clock.too_early(tick, Duration::from_secs(1)).await
    }

    #[tokio::test]
    async fn a_suspend_holds_no_tick_back_even_where_no_clock_is_to_be_seen_any_more() {
        let hour = SignedDuration::from_hours(1);
        assert_eq!(held_back(hour, hour).await, None);
    }

    #[tokio::test]
    async fn a_node_that_is_far_ahead_is_held_back_by_what_was_seen_last() {
        let ahead = SignedDuration::from_mins(10);
        assert!(held_back(ahead, SignedDuration::ZERO).await.is_some());
    }
}
