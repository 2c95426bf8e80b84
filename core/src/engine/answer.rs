//! What an answer about a tick means for this node.

use std::sync::Arc;
use std::time::Duration;

use super::Core;
use super::asking::{Asking, Next};
use super::misfire::instant;
use super::pulse::add_one;
use super::reading::Reading;
use super::run::{Granted, ended};
use crate::lock::{Acquisition, IfHeld, Taken};
use crate::{Begun, Lease, Occurrence, RunState};

impl Core {
    /// Takes an answer in, which came when the clocks showed `heard`.
    pub(super) fn answered<'a>(
        self: &Arc<Self>,
        asking: &'a mut Asking,
        begun: Begun,
        granted: Granted,
        heard: &Reading,
    ) -> Next<'a> {
        let (registration, occurrence) = (asking.due.registration, asking.tick.occurrence);
        let open = matches!(begun.acquisition, Acquisition::TooEarly { .. } | Acquisition::Held(_));
        if !open && let Some(entry) = self.table().entry(registration) {
            asking.heard = entry.answered.replace(occurrence.at());
        }
        let due = &asking.due;
        let job = &due.job;
        if heard.server.is_none() && !open && due.held_back == 0 {
            self.forget_skew();
        }
        if let Some(error) = &begun.unsaved {
            self.failed(Some(&job.id), error);
        }
        match begun.acquisition {
            Acquisition::Granted(grant) => {
                self.ticks_passed(asking, grant.previous);
                self.tell(job, Some(asking.request.run_id), &grant.untold, &grant.abandoned);
                self.close_abandoned(job, &grant.abandoned, begun.unclosed);
                let running = asking.running.clone();
                let run = self.granted(job.clone(), grant.lease, running, granted);
                // Behind the grant: one that is refused holds the next tick up until it is released.
                self.settle_after(asking, heard.basis);
                return Next::Then(run);
            }
            Acquisition::Consumed(consumed) => {
                self.ticks_passed(asking, consumed.previous);
                self.tick_skipped(asking, &consumed);
                self.tell(job, Some(asking.request.run_id), &consumed.untold, &[]);
                self.settle_after(asking, heard.basis);
            }
            Acquisition::AlreadyTaken(taken) => {
                add_one(&self.pulse.ticks_lost);
                tracing::debug!(node = %self.node, job = %job.id, %occurrence, "tick lost");
                self.look_at_mark(due.registration, &job.id, &taken.mark, heard);
                let cursor = after_taken(occurrence, &taken, heard);
                self.settle(due.registration, job, cursor, heard.basis);
            }
            Acquisition::TooEarly { by } => self.settle_too_early(due, occurrence, by, heard),
            Acquisition::Expired(lease) => {
                return Next::Then(Box::pin(self.clone().expired(asking, lease, granted)));
            }
            Acquisition::Held(_) => return self.held(asking, heard),
        }
        Next::Done
    }

    /// A grant was heard of when its lock had gone: its run ends without a beginning.
    async fn expired(self: Arc<Self>, asking: &Asking, lease: Lease, granted: Granted) {
        let job = &asking.due.job;
        let _unsaved = self.outbox.with_end();
        let told = self.tell_unheard(asking, &lease).await;
        let _ending = self.endings.begin(&job.id);
        self.settle_after(asking, self.read().basis);
        let mut running = asking.running.clone();
        running.token = Some(lease.token);
        let done = ended(running, RunState::LockLost, self.clock.now());
        let done = done.with_error("the grant was heard of after its lock had expired");
        drop(granted);
        if told {
            self.conclude(job, &lease, done).await;
        } else {
            // The run stays open, for what was named to it: the next grant names it.
            self.save_later(done);
        }
    }

    /// The lock is held and the tick still there: it waits for the lock, or for the moment from
    /// which it may be consumed.
    fn held<'a>(&self, asking: &'a mut Asking, heard: &Reading) -> Next<'a> {
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
        let left = heard
            .clocks()
            .server
            .map_or(0, |now| asking.tick.occurrence.as_millisecond().saturating_sub(now));
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(self.max_ahead);
        Next::AskAgain(if left.is_zero() { asking.held.next(self) } else { left })
    }
}

/// How far a tick that others took moves this node's cursor: to the mark, unless that lies ahead of
/// the clocks, where an operator may lower it again.
fn after_taken(occurrence: Occurrence, taken: &Taken, heard: &Reading) -> jiff::Timestamp {
    let mark = taken.mark.point.occurrence;
    let clocks = heard.clocks();
    let now = clocks.read(heard.basis).unwrap_or(clocks.wall);
    if mark.at() <= instant(now) { mark.max(occurrence).at() } else { occurrence.at() }
}
