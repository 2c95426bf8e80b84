//! Asking for a tick until it is answered or not worth it any more.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};
use tokio::time::sleep;

use super::Core;
use super::asking::{Asking, Next};
use super::backoff::Backoff;
use super::events::EventKind;
use super::misfire::Tick;
use super::reading::Reading;
use super::run::Granted;
use super::table::Due;
use crate::lock::Intent;
use crate::{BackendError, Begun, Occurrence, SkipReason};

/// How often a tick that waits for a place looks whether it is still worth it.
const PLACE_POLL: Duration = Duration::from_millis(500);

/// What a node has so few of that a tick may have to wait for it.
struct Turn<'a> {
    /// To run in, where the node has a maximum.
    place: Option<OwnedSemaphorePermit>,
    /// To ask.
    permit: SemaphorePermit<'a>,
}

impl Core {
    /// Asks for a tick, and runs it if it is granted. (Small, as all that is due at once is there at
    /// once: what is seldom waited for is on the heap.)
    #[expect(clippy::manual_async_fn, reason = "an `async fn` would hold what it is given twice")]
    pub(crate) fn ask(
        self: Arc<Self>,
        due: Due,
        tick: Tick,
        successor: Option<Occurrence>,
    ) -> impl Future<Output = ()> + Send {
        async move {
            let mut asking = self.asking(due, tick, successor);
            let mut backoff = Backoff::quick();
            loop {
                // What was sent is settled first, whatever ends meanwhile.
                if asking.unknown.is_none()
                    && let Some(over) = self.endings.of(&asking.due.job.id)
                {
                    Box::pin(self.own_runs_ended(&asking.due.job.id, over)).await;
                }
                let turn = match self.turn_at_once() {
                    Some(turn) => turn,
                    None => {
                        if self.worth_asking(&asking).is_none() {
                            return;
                        }
                        match Box::pin(self.turn(&asking)).await {
                            Some(turn) => turn,
                            None => continue,
                        }
                    }
                };
                let Some((granted, permit)) = self.prepare(&mut asking, turn) else {
                    return;
                };
                let result = self.begin(&asking.request, &asking.running, granted.sent).await;
                drop(permit);
                let wait = match self.heard(&mut asking, result, granted, &mut backoff) {
                    Next::Done => return,
                    Next::Then(run) => return run.await,
                    Next::AskAgain(wait) => wait,
                };
                // What may have been granted is found out even while the scheduler stops.
                let over = if asking.unknown.is_some() { &self.closing } else { &self.stopping };
                select! {
                    biased;
                    () = over.cancelled() => {}
                    () = sleep(wait) => {}
                }
            }
        }
    }

    /// The moment, and whether the tick may still be run. `None`: it is given up.
    fn worth_asking(&self, asking: &Asking) -> Option<(Reading, bool)> {
        let now = self.read();
        let worth = asking.is_worth(&now);
        if !self.may_ask(asking, worth) {
            self.give_up(asking, &now);
            return None;
        }
        Some((now, worth))
    }

    /// Makes the request ready to be sent. `None`: a wait has taken long, and it is given up.
    fn prepare<'a>(
        &self,
        asking: &mut Asking,
        turn: Turn<'a>,
    ) -> Option<(Granted, SemaphorePermit<'a>)> {
        let (now, worth) = self.worth_asking(asking)?;
        if !worth {
            // All that is left to find out is what became of the request that was not answered:
            // what was not granted by then is not to be run, nor to hold the lock for a moment.
            asking.request.intent = Intent::Skip(SkipReason::TooLate);
        }
        if asking.unknown.is_none() {
            // What may have been taken in is sent again as it was.
            asking.request.skew = now.skew.map(|skew| skew.ahead);
        }
        asking.running.started = now.wall;
        asking.running.overlap = self.live.has_overdue(&asking.due.job.id);
        let granted = Granted { sent: now.at, sent_wall: now.wall, worth, place: turn.place };
        Some((granted, turn.permit))
    }

    /// What became of a request that was sent.
    fn heard<'a>(
        self: &Arc<Self>,
        asking: &'a mut Asking,
        result: Result<(Begun, Reading), BackendError>,
        granted: Granted,
        backoff: &mut Backoff,
    ) -> Next<'a> {
        let error = match result {
            Ok((begun, heard)) => return self.answered(asking, begun, granted, &heard),
            Err(error) => error,
        };
        self.failed(Some(&asking.due.job.id), &error);
        if !error.is_retryable() {
            self.give_up(asking, &self.read());
            return Next::Done;
        }
        if granted.worth || asking.unknown.is_none() {
            asking.unknown = Some(granted.sent);
        }
        Next::AskAgain(backoff.next(self))
    }

    /// A turn for which nothing has to be waited.
    fn turn_at_once(&self) -> Option<Turn<'_>> {
        match &self.places {
            None => self.asks.try_acquire().ok().map(|permit| Turn { place: None, permit }),
            Some(_) => None,
        }
    }

    /// Waits for a turn. `None`: look again whether the tick is still worth it.
    async fn turn(&self, asking: &Asking) -> Option<Turn<'_>> {
        let place = self.take_place(asking).await?;
        // (Nobody closes it.)
        let permit = self.asks.acquire().await.ok()?;
        Some(Turn { place, permit })
    }

    /// Waits for a place to run in, where the node has a maximum.
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

    fn give_up(&self, asking: &Asking, now: &Reading) {
        let occurrence = asking.tick.occurrence;
        let job = &asking.due.job;
        tracing::debug!(node = %self.node, job = %job.id, %occurrence, "tick given up");
        self.event(Some(&job.id), EventKind::TickGivenUp { occurrence });
        if self.stopping.is_cancelled() {
            return;
        }
        if !asking.is_worth(now) && !asking.is_superseded(now) {
            // Too late, and its successor, which would tell of it, may be long in coming: it is
            // asked for to be skipped.
            let due = &asking.due;
            return self.settle(due.registration, &due.job, due.cursor, now.basis);
        }
        self.settle_after(asking, now.basis);
    }
}
