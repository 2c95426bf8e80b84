//! How long a lease lives, as far as its holder can prove.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Whether a handler may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may.
    Alive,
    /// Not before a renewal has settled whether the lease outlived a jump of the wall clock.
    Suspect,
    /// It is to be dropped: it was told to stop and has had its grace.
    Drop,
    /// The lease is lost or cannot be proved.
    Dead,
}

/// The life of one lease, counted from the moment the last answered request was *sent*.
///
/// Shared by the handler's task, which looks at it before each poll, and the watchdog, which
/// renews it.
#[derive(Debug)]
pub(super) struct Life {
    ttl: Duration,
    state: Mutex<State>,
    /// The handler's task asks the watchdog for a renewal at once.
    pub(super) renew_now: Notify,
    /// Set when a watchdog is on its way.
    watching: OnceLock<Watching>,
}

/// What the run's task and its watchdog tell each other.
#[derive(Debug, Default)]
pub(super) struct Watching {
    /// The run is over: no more renewals.
    pub(super) stop: CancellationToken,
    /// The watchdog has ended.
    pub(super) stopped: CancellationToken,
}

#[derive(Debug)]
struct State {
    sent: Instant,
    sent_wall: Timestamp,
    lost: bool,
    drop: bool,
    /// The watchdog has finished the run in the place of code that cannot be stopped.
    closed: bool,
    waker: Option<Waker>,
}

impl Life {
    pub(super) fn new(ttl: Duration, sent: Instant, sent_wall: Timestamp) -> Self {
        let state = State { sent, sent_wall, lost: false, drop: false, closed: false, waker: None };
        Self { ttl, state: Mutex::new(state), renew_now: Notify::new(), watching: OnceLock::new() }
    }

    /// A watchdog is on its way, or at work.
    pub(super) fn watch(&self) -> &Watching {
        self.watching.get_or_init(Watching::default)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the handler is told to stop unless the lease is renewed before.
    pub(super) fn cancel_at(&self) -> Instant {
        self.state().sent + self.ttl * 4 / 5
    }

    /// When the handler is dropped unless the lease is renewed before.
    pub(super) fn drop_at(&self) -> Instant {
        self.state().sent + self.ttl * 9 / 10
    }

    pub(super) fn verdict(&self, now: Instant, wall: Timestamp) -> Verdict {
        let state = self.state();
        let limit = self.ttl * 9 / 10;
        let by_wall = wall.duration_since(state.sent_wall);
        if state.lost || now >= state.sent + limit {
            Verdict::Dead
        } else if state.drop {
            Verdict::Drop
        } else if by_wall > SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX) {
            Verdict::Suspect
        } else {
            Verdict::Alive
        }
    }

    /// The backend has renewed the lease, asked at that moment.
    pub(super) fn renewed(&self, sent: Instant, sent_wall: Timestamp) {
        let mut state = self.state();
        (state.sent, state.sent_wall) = (sent, sent_wall);
        wake(state);
    }

    /// The backend says that the lock was still held when asked at that moment; its life is what
    /// it was.
    pub(super) fn still_held(&self, asked: Instant, asked_wall: Timestamp) {
        let mut state = self.state();
        let age = asked.saturating_duration_since(state.sent);
        state.sent_wall = asked_wall.checked_sub(age).unwrap_or(asked_wall);
        wake(state);
    }

    pub(super) fn lose(&self) {
        let mut state = self.state();
        state.lost = true;
        wake(state);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.state().lost
    }

    /// The handler is to be dropped.
    pub(super) fn drop_handler(&self) {
        let mut state = self.state();
        state.drop = true;
        wake(state);
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Who is to be woken when the verdict changes.
    pub(super) fn wakes(&self, waker: &Waker) {
        let mut state = self.state();
        if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_dead_by_the_monotonic_clock_and_suspect_by_the_wall_clock_alone() {
        let (t0, wall) = (Instant::now(), Timestamp::UNIX_EPOCH);
        let secs = Duration::from_secs;
        let life = Life::new(secs(10), t0, wall);
        let at = |mono, by_wall| life.verdict(t0 + secs(mono), wall + secs(by_wall));
        assert_eq!(at(8, 8), Verdict::Alive);
        assert_eq!(at(9, 9), Verdict::Dead);
        assert_eq!(at(9, 0), Verdict::Dead);
        assert_eq!(at(2, 3600), Verdict::Suspect);
        life.still_held(t0 + secs(2), wall + secs(3600));
        assert_eq!(at(2, 3600), Verdict::Alive);
        assert_eq!(life.verdict(t0 + secs(9), wall + secs(3607)), Verdict::Dead);
        life.renewed(t0 + secs(8), wall + secs(3606));
        assert_eq!(at(16, 3614), Verdict::Alive);
        life.lose();
        assert_eq!(at(16, 3614), Verdict::Dead);
    }
}
