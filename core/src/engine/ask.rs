//! Asking for a tick until it is answered or not worth it any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};

use super::Core;
use super::asking::{Asking, Next};
use super::backoff::Backoff;
use super::events::EventKind;
use super::misfire::Tick;
use super::run::Granted;
use super::table::Due;
use crate::SkipReason;
use crate::lock::Intent;

/// How often a tick that waits for a place looks whether it is still worth it.
const PLACE_POLL: Duration = Duration::from_millis(500);

impl Core {
    /// Asks for a tick, and runs it if it is granted.
    pub(crate) async fn ask(self: Arc<Self>, due: Due, tick: Tick) {
        let mut asking = self.asking(due, tick);
        let mut backoff = Backoff::quick();
        loop {
            // What was sent is settled first, whatever ends meanwhile.
            if asking.unknown.is_none() {
                self.own_runs_ended(&asking.due.job.id).await;
            }
            let worth = self.is_worth(&asking);
            if !self.may_ask(&asking, worth) {
                return self.give_up(&asking);
            }
            let Some(place) = self.take_place(&asking).await else {
                continue;
            };
            let (permit, worth) = match self.asks.try_acquire() {
                Ok(permit) if self.places.is_none() => (permit, worth),
                permit => {
                    let Ok(permit) = (match permit {
                        Ok(permit) => Ok(permit),
                        Err(_) => self.asks.acquire().await,
                    }) else {
                        return;
                    };
                    // A wait for place and permit may have taken long.
                    let worth = self.is_worth(&asking);
                    if !self.may_ask(&asking, worth) {
                        return self.give_up(&asking);
                    }
                    (permit, worth)
                }
            };
            if !worth {
                // All that is left to find out is what became of the request that was not answered:
                // what was not granted by then is not to be run, nor to hold the lock for a moment.
                asking.request.intent = Intent::Skip(SkipReason::TooLate);
            }
            let (sent, sent_wall) = (Instant::now(), self.clock.now());
            asking.running.started = sent_wall;
            asking.running.overlap = self.live.has_overdue(&asking.due.job.id);
            let result = self.begin(&asking.request, &asking.running).await;
            drop(permit);
            let wait = match result {
                Ok(begun) => {
                    let granted = Granted { sent, sent_wall, worth, place };
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
            let over = if asking.unknown.is_some() { &self.closing } else { &self.stopping };
            select! {
                biased;
                () = over.cancelled() => {}
                () = sleep(wait) => {}
            }
        }
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
        if self.stopping.is_cancelled() {
            return;
        }
        let (due, run) = (&asking.due, asking.tick.intent == Intent::Run);
        if asking.successor.is_none() && run && !self.is_worth(asking) {
            // There is no later tick that would tell of it: it is asked for to be skipped.
            return self.settle(due.registration, &due.job, due.cursor);
        }
        self.settle_after(asking);
    }
}
