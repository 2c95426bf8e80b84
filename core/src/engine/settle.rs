//! Moving a job on to its next tick.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::select;
use tokio::time::sleep;

use super::Core;
use super::asking::Asking;
use super::backoff::Backoff;
use super::events::EventKind;
use super::misfire::instant;
use super::plan::{Basis, Place};
use super::reading::Reading;
use super::skew::Skew;
use super::table::{Due, Registration};
use super::ticks::{self, Fault};
use crate::job::Definition;
use crate::{LockState, Occurrence};

/// The shortest wait before a tick is asked for again.
const LEAST_WAIT_MS: i64 = 1;

/// The same where the backend finds a tick too early that is due by all that is known of its clock.
const PAUSE_MS: i64 = 100;

/// The longest: what the backend said may have changed by then.
const MOST_WAIT_MS: i64 = 30_000;

/// How long the backend is not asked for its clock after it was.
const REFRESH_PAUSE: Duration = Duration::from_secs(1);

impl Core {
    /// Queues a job for the first tick after `cursor`.
    pub(crate) fn settle(
        &self,
        registration: Registration,
        job: &Definition,
        cursor: Timestamp,
        basis: Basis,
    ) {
        self.settle_at(registration, job, cursor, |tick| (basis, job.due_at(tick)));
    }

    /// Queues a job again after the backend found `early` too early by `by`: for the first tick
    /// that is not done, which is an older one where this node's clock had jumped ahead.
    pub(crate) fn settle_too_early(
        &self,
        due: &Due,
        early: Occurrence,
        by: Duration,
        reading: &Reading,
    ) {
        let clocks = reading.clocks();
        let Some(now) = clocks.server else {
            return self.settle_held_back(due, early, by, reading);
        };
        let planned_by = clocks.read(reading.basis).unwrap_or(clocks.wall);
        // An older tick would be passed over for this one again, at once.
        let disputed = due.job.due_at(early) <= planned_by;
        let wait = i64::try_from(by.as_millis())
            .unwrap_or(i64::MAX)
            .clamp(if disputed { PAUSE_MS } else { LEAST_WAIT_MS }, MOST_WAIT_MS);
        let cursor = self.table().entry(due.registration).map_or(due.cursor, |entry| {
            entry.rewind(instant(now));
            entry.cursor
        });
        self.settle_at(due.registration, &due.job, cursor, |tick| {
            if tick != early && !disputed {
                return (reading.basis, due.job.due_at(tick));
            }
            (Basis::Server, due.job.due_at(tick).max(now.saturating_add(wait)))
        });
    }

    /// The same where the backend tells no clock: how far ahead this node's is shows in what the
    /// backend would take by now.
    fn settle_held_back(&self, due: &Due, early: Occurrence, by: Duration, reading: &Reading) {
        let wall = reading.clocks().wall;
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        let ahead = wall.saturating_sub(early.as_millisecond().saturating_sub(by)).max(0);
        let max_ahead = SignedDuration::try_from(self.max_ahead).unwrap_or(SignedDuration::MAX);
        let ahead_of_it = SignedDuration::from_millis(ahead).saturating_add(max_ahead);
        let skew = Some(Skew { ahead: ahead_of_it, uncertainty: Duration::ZERO });
        self.tell_skew(&Reading { skew, ..*reading });
        let held_back = ahead.saturating_sub(due.job.splay_ms).max(0);
        let cursor = self.table().entry(due.registration).map_or(due.cursor, |entry| {
            entry.held_back = held_back;
            entry.cursor
        });
        let soonest = wall.saturating_add(PAUSE_MS);
        let latest = wall.saturating_add(MOST_WAIT_MS);
        self.settle_at(due.registration, &due.job, cursor, |tick| {
            (Basis::Wall, due.job.due_at(tick).saturating_add(held_back).clamp(soonest, latest))
        });
    }

    fn settle_at(
        &self,
        registration: Registration,
        job: &Definition,
        cursor: Timestamp,
        place: impl Fn(Occurrence) -> Place,
    ) {
        match ticks::next(job, cursor) {
            Ok(next) => self.queue(registration, cursor, next.map(|tick| (tick, place(tick)))),
            Err(fault) => {
                self.schedule_faulted(job, &fault);
                self.queue(registration, cursor, None);
            }
        }
    }

    /// Queues a job whose tick is answered or given up for the one after it.
    pub(crate) fn settle_after(&self, asking: &Asking, basis: Basis) {
        let (due, answered) = (&asking.due, asking.tick.occurrence.at());
        self.settle_for(due.registration, &due.job, answered, asking.successor, basis);
    }

    /// Queues a job for `next`, the first tick after `cursor`.
    pub(crate) fn settle_for(
        &self,
        registration: Registration,
        job: &Definition,
        cursor: Timestamp,
        next: Option<Occurrence>,
        basis: Basis,
    ) {
        self.queue(registration, cursor, next.map(|tick| (tick, (basis, job.due_at(tick)))));
    }

    /// A job whose schedule is broken is asked for no more, until it is replaced.
    pub(crate) fn stand_still(&self, registration: Registration, cursor: Timestamp) {
        self.queue(registration, cursor, None);
    }

    fn queue(
        &self,
        registration: Registration,
        cursor: Timestamp,
        next: Option<(Occurrence, Place)>,
    ) {
        let mut table = self.table();
        let successor = table.entry(registration).and_then(|entry| entry.succeed(cursor));
        if let Some((job, cursor)) = successor {
            drop(table);
            return self.settle(registration, &job, cursor, self.read().basis);
        }
        if let Some(entry) = table.entry(registration) {
            entry.cursor = cursor;
        }
        let first = table.queue(registration, next);
        drop(table);
        if first {
            self.wake.notify_one();
        }
    }

    pub(crate) fn schedule_faulted(&self, job: &Definition, Fault(message): &Fault) {
        tracing::error!(node = %self.node, job = %job.id, message, "schedule faulted");
        let message = message.clone();
        self.event(Some(&job.id), EventKind::ScheduleFaulted { message });
    }

    /// Looks a job up once: from which tick on has nobody answered for it?
    pub(crate) async fn look_up(self: Arc<Self>, registration: Registration, job: Arc<Definition>) {
        let state = select! {
            biased;
            // A shutdown does not wait for looks.
            () = self.stopping.cancelled() => return,
            state = self.state_of(registration, &job) => state,
        };
        self.looked_up(registration, state.as_ref());
    }

    /// What the backend knows of a job has been found out; `None`: it never will.
    pub(super) fn looked_up(&self, registration: Registration, state: Option<&LockState>) {
        // It may have been replaced since the question was sent.
        let job = self.table().entry(registration).map(|entry| entry.job.clone());
        let Some(job) = job else {
            return;
        };
        let mark = state.and_then(|state| state.mark.as_ref());
        if let Some(mark) = mark {
            self.look_at_mark(registration, &job.id, mark, &self.read());
        }
        let missed_since = match mark {
            Some(mark) if mark.point.fingerprint == job.fingerprint => {
                Some(mark.point.occurrence.at())
            }
            // An edited schedule looks only forward.
            Some(_) => None,
            None => job.schedule.is_once().then_some(Timestamp::UNIX_EPOCH),
        };
        self.looked(registration, &job, missed_since);
    }

    /// What the backend knows of a job, asked until it tells; `None`: it never will, or the job has
    /// been taken out meanwhile.
    async fn state_of(&self, registration: Registration, job: &Definition) -> Option<LockState> {
        let mut backoff = Backoff::relaxed();
        loop {
            let permit = self.looks.acquire().await.ok()?;
            self.table().entry(registration)?;
            let result = self.inspect(&job.key).await;
            drop(permit);
            match result {
                Ok(state) => return Some(state),
                Err(error) => {
                    self.failed(Some(&job.id), &error);
                    if !error.is_retryable() {
                        return None;
                    }
                }
            }
            sleep(backoff.next(self)).await;
        }
    }

    fn looked(
        &self,
        registration: Registration,
        job: &Definition,
        missed_since: Option<Timestamp>,
    ) {
        // By now the backend's clock is known, if it has one. A job without a past begins when it
        // was registered, by that clock: on a node whose clock is behind it has missed nothing of
        // what was before, and on one whose clock is ahead it does not wait.
        let reading = self.read();
        let mut table = self.table();
        let Some(entry) = table.entry(registration) else {
            return;
        };
        let begin = self.meter.server_at(entry.registered).unwrap_or(entry.since);
        entry.looked = true;
        if entry.asking().is_some() && !entry.is_parked() {
            return;
        }
        let before = entry.cursor;
        if entry.cursor == entry.since {
            entry.since = begin;
            // A mark ahead of this clock may be an operator's to lower: it is not passed over.
            entry.cursor = missed_since.map_or(entry.since, |since| since.min(begin));
        } else {
            let clocks = reading.clocks();
            entry.rewind(instant(clocks.server.unwrap_or(clocks.wall)));
        }
        let cursor = entry.cursor;
        if entry.waits_for_the_same(before, reading.basis) {
            return;
        }
        // Not to be taken before it is queued again.
        table.take_out(registration);
        drop(table);
        self.settle(registration, job, cursor, reading.basis);
    }

    /// After the clock was set back: what was only given up is asked for when its time comes again.
    pub(crate) fn set_back(&self) {
        let reading = self.read();
        let moved = self.table().rewind(reading.wall);
        for (registration, job) in moved {
            let cursor = self.table().entry(registration).map(|entry| entry.cursor);
            if let Some(cursor) = cursor {
                self.settle(registration, &job, cursor, reading.basis);
            }
        }
    }

    /// Has the backend asked for its clock, where ticks are planned by it and it was last heard
    /// that long ago.
    pub(crate) fn refresh_meter(&self, older_than: Duration, now: &Reading) {
        if now.basis == Basis::Server && self.meter.age(now.at) >= older_than {
            self.stale.notify_one();
        }
    }

    /// Asks for the backend's clock whenever told to, and once a second at most: a clock that
    /// jitters is set all the time.
    pub(crate) async fn keep_meter(self: Arc<Self>) {
        let keep = async {
            loop {
                self.stale.notified().await;
                self.ask_for_clock().await;
                self.wake.notify_one();
                sleep(REFRESH_PAUSE).await;
            }
        };
        select! {
            biased;
            () = self.stopping.cancelled() => {}
            () = keep => {}
        }
    }

    /// Asks until the backend answers, through the key of another job each time: what is stored
    /// of one may be broken.
    async fn ask_for_clock(&self) {
        let mut backoff = Backoff::relaxed();
        for turn in 0.. {
            let key = self.table().any(turn).map(|entry| entry.job.key.clone());
            let Some(key) = key else { return };
            match self.inspect(&key).await {
                Ok(_) => return,
                Err(error) => self.failed(Some(key.job()), &error),
            }
            sleep(backoff.next(self)).await;
        }
    }
}
