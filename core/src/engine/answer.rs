//! What an answer about a tick means for this node.

use std::sync::Arc;
use std::time::Duration;

use super::Core;
use super::asking::{Asking, Next};
use super::misfire::instant;
use super::pulse::add_one;
use super::run::Granted;
use crate::lock::{Acquisition, IfHeld, Taken};
use crate::{Begun, Occurrence, RunState};

impl Core {
    /// Takes an answer in. A grant is run here, to its end.
    pub(super) async fn answered(
        self: &Arc<Self>,
        asking: &mut Asking,
        begun: Begun,
        granted: Granted,
    ) -> Next {
        let (registration, occurrence) = (asking.due.registration, asking.tick.occurrence);
        let open = matches!(begun.acquisition, Acquisition::TooEarly { .. } | Acquisition::Held(_));
        if !open && let Some(entry) = self.table().entry(registration) {
            asking.heard = entry.answered.replace(occurrence.at());
        }
        let due = &asking.due;
        let job = &due.job;
        if let Some(error) = &begun.unsaved {
            self.failed(Some(&job.id), error);
        }
        match begun.acquisition {
            Acquisition::Granted(grant) => {
                self.ticks_passed(asking, grant.previous);
                self.tell(job, Some(asking.request.run_id), &grant.untold, &grant.abandoned);
                self.close_abandoned(job, &grant.abandoned, begun.unclosed);
                let ending = self.endings.begin(&job.id);
                self.settle_after(asking);
                let running = asking.running.clone();
                // On the heap: most of what is asked for is not granted, and what is moved is small.
                Box::pin(self.granted(job.clone(), grant.lease, running, granted, ending)).await;
            }
            Acquisition::Consumed(consumed) => {
                self.ticks_passed(asking, consumed.previous);
                self.tick_skipped(asking, &consumed);
                self.tell(job, Some(asking.request.run_id), &consumed.untold, &[]);
                self.settle_after(asking);
            }
            Acquisition::AlreadyTaken(taken) => {
                add_one(&self.pulse.ticks_lost);
                tracing::debug!(node = %self.node, job = %job.id, %occurrence, "tick lost");
                self.look_at_mark(due.registration, &job.id, &taken.mark);
                let cursor = self.after_taken(occurrence, &taken);
                self.settle(due.registration, job, cursor);
            }
            Acquisition::TooEarly { by } => self.settle_too_early(due, occurrence, by),
            Acquisition::Expired(lease) => {
                let told = self.tell_unheard(asking, &lease).await;
                let _ending = self.endings.begin(&job.id);
                self.settle_after(asking);
                let mut running = asking.running.clone();
                running.token = Some(lease.token);
                let done = self.ended(running, RunState::LockLost);
                let done = done.with_error("the grant was heard of after its lock had expired");
                drop(granted);
                if told {
                    Box::pin(self.conclude(job, &lease, done)).await;
                } else {
                    // The run stays open, for what was named to it: the next grant names it.
                    self.save_later(done);
                }
            }
            Acquisition::Held(_) => return self.held(asking),
        }
        Next::Done
    }

    /// How far a tick that others took moves this node's cursor: to the mark, unless that lies
    /// ahead of the clocks, where an operator may lower it again.
    fn after_taken(&self, occurrence: Occurrence, taken: &Taken) -> jiff::Timestamp {
        let mark = taken.mark.point.occurrence;
        let clocks = self.clocks();
        let now = clocks.read(self.basis()).unwrap_or(clocks.wall);
        if mark.at() <= instant(now) { mark.max(occurrence).at() } else { occurrence.at() }
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
        let left = self
            .clocks()
            .server
            .map_or(0, |now| asking.tick.occurrence.as_millisecond().saturating_sub(now));
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0)).min(self.max_ahead);
        Next::AskAgain(if left.is_zero() { asking.held.next(self) } else { left })
    }
}
