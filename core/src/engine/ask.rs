//! Asking for a tick until it is answered or not worth it any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};

use super::Core;
use super::backoff::Backoff;
use super::events::EventKind;
use super::misfire::{Tick, instant};
use super::pulse::add_one;
use super::run::Granted;
use super::settle::due_at;
use super::table::Due;
use super::ticks;
use crate::lock::{AcquireRequest, Acquisition, IfHeld, Intent, Taken};
use crate::{Moved, Occurrence, Record, RunState, SkipReason};

/// What an answer means for the asking.
enum Next {
    /// It is over.
    Done,
    /// The same is asked again after this long.
    AskAgain(Duration),
}

/// One tick, being asked for.
pub(crate) struct Asking {
    pub(crate) due: Due,
    pub(crate) tick: Tick,
    /// The tick after it.
    pub(crate) successor: Option<Occurrence>,
    request: AcquireRequest,
    running: Record,
    /// When a request was last sent whose outcome is unknown.
    unknown: Option<Instant>,
    held: Backoff,
    held_before: bool,
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

    async fn answered(
        self: &Arc<Self>,
        asking: &mut Asking,
        begun: crate::Begun,
        granted: Granted,
    ) -> Next {
        let Asking { due, tick, .. } = &*asking;
        let (job, occurrence) = (&due.job, tick.occurrence);
        if let Some(error) = &begun.unsaved {
            self.failed(Some(&job.id), error);
        }
        let open = matches!(
            begun.acquisition,
            Acquisition::TooEarly { .. } | Acquisition::Held(_)
        );
        if !open && let Some(entry) = self.table().entry(due.registration) {
            entry.answered = Some(occurrence.at());
        }
        match begun.acquisition {
            Acquisition::Granted(grant) => {
                self.ticks_passed(asking, grant.previous);
                self.ends_streak(due.registration);
                self.close_abandoned(job, &grant.abandoned, begun.unclosed);
                self.settle_after(asking);
                self.granted(job.clone(), grant.lease, asking.running.clone(), granted)
                    .await;
            }
            Acquisition::Consumed(consumed) => {
                self.ticks_passed(asking, consumed.previous);
                self.tick_skipped(due.registration, job, occurrence, &consumed);
                self.settle_after(asking);
            }
            Acquisition::AlreadyTaken(taken) => {
                add_one(&self.pulse.ticks_lost);
                tracing::debug!(node = %self.node, job = %job.id, %occurrence, "tick lost");
                self.look_at_mark(due.registration, &job.id, &taken.mark);
                self.settle(
                    due.registration,
                    job,
                    self.after_taken(due, occurrence, &taken),
                );
            }
            Acquisition::TooEarly { by } => self.settle_too_early(due, occurrence, by),
            Acquisition::Expired(lease) => {
                self.ticks_passed_unheard(asking, &lease).await;
                self.ends_streak(due.registration);
                self.settle_after(asking);
                let done = self.ended(asking.running.clone(), RunState::LockLost);
                let done = done.with_error("the grant was heard of after its lock had expired");
                drop(granted);
                self.conclude(job, &lease, done).await;
            }
            Acquisition::Held(_) => return self.held(asking),
        }
        Next::Done
    }

    /// How far a tick that others took moves this node's cursor: to the mark, unless that lies
    /// ahead of the clocks, where an operator may lower it again.
    fn after_taken(&self, due: &Due, occurrence: Occurrence, taken: &Taken) -> jiff::Timestamp {
        let mark = taken.mark.point.occurrence;
        let clocks = self.clocks();
        let now = clocks.read(self.basis()).unwrap_or(clocks.wall);
        if matches!(taken.mark.moved, Moved::Granted(_)) {
            self.ends_streak(due.registration);
        }
        if mark.at() <= instant(now) {
            mark.max(occurrence).at()
        } else {
            occurrence.at()
        }
    }

    /// The lock is held and the tick still there: it waits for the lock, or for the moment from
    /// which it may be consumed.
    fn held(&self, asking: &mut Asking) -> Next {
        // A lock of another's: nothing of this node's asking has been granted.
        asking.unknown = None;
        if asking.tick.patient {
            return Next::AskAgain(asking.held.next(self));
        }
        if !self.backend.has_clock() {
            if !std::mem::replace(&mut asking.held_before, true) {
                asking.request.if_held = IfHeld::Consume;
                return Next::AskAgain(self.max_ahead);
            }
            return Next::AskAgain(asking.held.next(self));
        }
        let left = self.clocks().server.map_or(0, |now| {
            asking.tick.occurrence.as_millisecond().saturating_sub(now)
        });
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(self.max_ahead);
        Next::AskAgain(if left.is_zero() {
            asking.held.next(self)
        } else {
            left
        })
    }
}

/// How often a tick that waits for a place looks whether it is still worth it.
const PLACE_POLL: Duration = Duration::from_millis(500);

impl Core {
    /// A run that ended without its handler being called, or after it.
    pub(crate) fn ended(&self, mut record: Record, state: RunState) -> Record {
        record.state = state;
        record.ended = Some(self.clock.now());
        if matches!(state, RunState::Skipped(SkipReason::TooLate)) {
            record.ticks = record.occurrence.map(crate::TickSpan::one);
        }
        record
    }
}
