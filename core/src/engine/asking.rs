//! One tick that is being asked for, and whether it still should be.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::Core;
use super::backoff::Backoff;
use super::misfire::Tick;
use super::reading::Reading;
use super::table::Due;
use crate::lock::{AcquireRequest, IfHeld, Intent};
use crate::{Occurrence, Record, RunState};

/// One tick, being asked for.
pub(crate) struct Asking {
    pub(crate) due: Due,
    pub(crate) tick: Tick,
    /// The tick after it.
    pub(crate) successor: Option<Occurrence>,
    pub(super) request: AcquireRequest,
    pub(super) running: Record,
    /// When a request was last sent whose outcome is unknown.
    pub(super) unknown: Option<Instant>,
    /// The newest tick that this node had an answer about before.
    pub(super) heard: Option<Timestamp>,
    /// The waits while another run holds the lock.
    pub(super) held: Backoff,
    pub(super) held_before: bool,
}

impl Asking {
    /// Whether the tick may still be run: its successor is not due, and it is not too late.
    pub(super) fn is_worth(&self, reading: &Reading) -> bool {
        self.is_in_time(reading) && (self.tick.patient || !self.is_superseded(reading))
    }

    /// Whether its successor is due.
    pub(super) fn is_superseded(&self, reading: &Reading) -> bool {
        let due = |next| self.due.job.due_at(next) <= self.moment(reading);
        self.successor.is_some_and(due)
    }

    /// Whether it is not too late to run it.
    fn is_in_time(&self, reading: &Reading) -> bool {
        let job = &self.due.job;
        let late = self.moment(reading).saturating_sub(job.due_at(self.tick.occurrence));
        match (job.start_within, self.tick.intent) {
            (Some(limit), Intent::Run) => {
                i128::from(late) <= i128::try_from(limit.as_millis()).unwrap_or(i128::MAX)
            }
            _ => true,
        }
    }

    /// The time by the clock that the tick is planned by.
    fn moment(&self, reading: &Reading) -> i64 {
        reading.clocks().passed(reading.basis).saturating_sub(self.due.held_back)
    }
}

/// What an answer means for the asking.
pub(super) enum Next<'a> {
    /// It is over.
    Done,
    /// It is over when this is: a run, or the end of one. On the heap, since most of what is asked
    /// for is not granted, and what is moved is small.
    Then(Pin<Box<dyn Future<Output = ()> + Send + 'a>>),
    /// The same is asked again after this long.
    AskAgain(Duration),
}

impl Core {
    /// Begins to ask: what is sent is made here, once, but for what the clocks show when it is sent.
    pub(super) fn asking(&self, due: Due, tick: Tick, successor: Option<Occurrence>) -> Asking {
        let job = &due.job;
        let (run_id, holder) = self.new_names();
        let occurrence = Some(tick.occurrence);
        let mut request = AcquireRequest::new(
            job.key.clone(),
            holder,
            run_id,
            self.node.clone(),
            occurrence,
            job.fingerprint,
            job.ttl,
        );
        request.max_ahead = self.max_ahead;
        request.intent = tick.intent;
        request.after =
            if tick.occurrence == due.next { Occurrence::new(due.cursor) } else { None };
        if !tick.patient && self.backend.has_clock() {
            request.if_held = IfHeld::Consume;
        }
        let (id, node) = (job.id.clone(), self.node.clone());
        let mut running = Record::new(run_id, id, node, RunState::Running, tick.occurrence.at());
        running.occurrence = occurrence;
        let held = Backoff::quick();
        Asking {
            due,
            tick,
            successor,
            request,
            running,
            unknown: None,
            heard: None,
            held,
            held_before: false,
        }
    }

    /// A tick is asked for while it is worth it, its job is there with its schedule and nothing stops; one whose outcome is unknown
    /// for as long as a lock that it may have taken can live.
    pub(super) fn may_ask(&self, asking: &Asking, worth: bool) -> bool {
        let settling = asking.unknown.is_some_and(|sent| sent.elapsed() <= asking.request.ttl);
        if self.closing.is_cancelled() {
            return false;
        }
        let wanted = || {
            let mut table = self.table();
            table.entry(asking.due.registration).is_some_and(|entry| !entry.is_edited())
        };
        settling || (worth && !self.stopping.is_cancelled() && wanted())
    }
}
