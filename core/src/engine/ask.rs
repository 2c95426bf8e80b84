//! Asking for a tick until it is answered or not worth it any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};

use super::Core;
use super::answer::Next;
use super::backoff::Backoff;
use super::events::EventKind;
use super::misfire::Tick;
use super::run::Granted;
use super::settle::due_at;
use super::table::Due;
use super::ticks;
use crate::lock::{AcquireRequest, IfHeld, Intent};
use crate::{Occurrence, Record, RunState};

/// How often a tick that waits for a place looks whether it is still worth it.
const PLACE_POLL: Duration = Duration::from_millis(500);

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
    /// The waits while another run holds the lock.
    pub(super) held: Backoff,
    pub(super) held_before: bool,
}

impl Core {
    /// Asks for a tick, and runs it if it is granted.
    pub(crate) async fn ask(self: Arc<Self>, due: Due, tick: Tick) {
        let mut asking = self.asking(due, tick);
        let mut backoff = Backoff::quick();
        loop {
            let worth = self.is_worth(&asking);
            if !self.may_ask(&asking, worth) {
                return self.give_up(&asking);
            }
            let Some(place) = self.take_place(&asking).await else {
                continue;
            };
            let Ok(permit) = self.asks.acquire().await else {
                return;
            };
            // A wait for place and permit may have taken long.
            let worth = self.is_worth(&asking);
            if !self.may_ask(&asking, worth) {
                return self.give_up(&asking);
            }
            let (sent, sent_wall) = (Instant::now(), self.clock.now());
            asking.running.started = sent_wall;
            asking.running.overlap = self.live.has_overdue(&asking.due.job.id);
            let result = self.begin(&asking.request, &asking.running).await;
            drop(permit);
            let wait = match result {
                Ok(begun) => {
                    let granted = Granted {
                        sent,
                        sent_wall,
                        worth,
                        place,
                    };
                    match self.answered(&mut asking, begun, granted).await {
                        Next::Done => return,
                        Next::AskAgain(wait) => wait,
                    }
                }
                Err(error) => {
                    drop(place);
                    self.failed(Some(&asking.due.job.id), &error);
                    if !error.is_retryable() {
                        return self.give_up(&asking);
                    }
                    if worth || asking.unknown.is_none() {
                        asking.unknown = Some(sent);
                    }
                    backoff.next(&self)
                }
            };
            // What may have been granted is found out even while the scheduler stops.
            let over = if asking.unknown.is_some() {
                &self.closing
            } else {
                &self.stopping
            };
            select! {
                biased;
                () = over.cancelled() => {}
                () = sleep(wait) => {}
            }
        }
    }

    fn asking(&self, due: Due, tick: Tick) -> Asking {
        let job = &due.job;
        let successor = ticks::next(job, tick.occurrence.at()).unwrap_or_else(|fault| {
            self.schedule_faulted(job, &fault);
            None
        });
        let run_id = self.new_run_id();
        let occurrence = Some(tick.occurrence);
        let holder = self.new_holder();
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
        request.skew = self
            .meter
            .skew(self.clock.now(), Instant::now())
            .map(|skew| skew.ahead);
        if !tick.patient && self.backend.has_clock() {
            request.if_held = IfHeld::Consume;
        }
        let started = self.clock.now();
        let mut running = Record::new(
            run_id,
            job.id.clone(),
            self.node.clone(),
            RunState::Running,
            started,
        );
        running.occurrence = occurrence;
        let held = Backoff::quick();
        Asking {
            due,
            tick,
            successor,
            request,
            running,
            unknown: None,
            held,
            held_before: false,
        }
    }

    /// Whether the tick may still be run: its successor is not due, and it is not too late.
    fn is_worth(&self, asking: &Asking) -> bool {
        let (job, tick) = (&asking.due.job, asking.tick);
        let clocks = self.clocks();
        let now = clocks.read(self.basis()).unwrap_or(clocks.wall);
        let late = now.saturating_sub(due_at(job, tick.occurrence));
        let in_time = match (job.start_within, tick.intent) {
            (Some(limit), Intent::Run) => {
                i128::from(late) <= i128::try_from(limit.as_millis()).unwrap_or(i128::MAX)
            }
            _ => true,
        };
        in_time && (tick.patient || asking.successor.is_none_or(|next| due_at(job, next) > now))
    }

    /// A tick is asked for while it is worth it and nothing stops; one whose outcome is unknown
    /// for as long as a lock that it may have taken can live.
    fn may_ask(&self, asking: &Asking, worth: bool) -> bool {
        let settling = asking
            .unknown
            .is_some_and(|sent| sent.elapsed() <= asking.request.ttl);
        if self.closing.is_cancelled() {
            return false;
        }
        settling || (worth && !self.stopping.is_cancelled())
    }

    /// Waits for a place to run in, where the node has a maximum. `None`: look again whether the
    /// tick is still worth it.
    async fn take_place(&self, asking: &Asking) -> Option<Option<OwnedSemaphorePermit>> {
        let Some(places) = &self.places else {
            return Some(None);
        };
        if asking.tick.intent != Intent::Run {
            return Some(None);
        }
        if asking.unknown.is_some() {
            // It may have been granted already; that has to be found out, place or no place.
            return Some(places.clone().try_acquire_owned().ok());
        }
        select! {
            biased;
            () = self.stopping.cancelled() => None,
            place = places.clone().acquire_owned() => Some(place.ok()),
            () = sleep(PLACE_POLL) => None,
        }
    }

    fn give_up(&self, asking: &Asking) {
        let occurrence = asking.tick.occurrence;
        let job = &asking.due.job;
        tracing::debug!(node = %self.node, job = %job.id, %occurrence, "tick given up");
        self.event(Some(&job.id), EventKind::TickGivenUp { occurrence });
        // Another node may run it.
        self.ends_streak(asking.due.registration);
        if !self.stopping.is_cancelled() {
            self.settle_after(asking);
        }
    }
}
