//! One granted run, from the grant to its final record.

mod call;
mod guard;
mod life;
mod unwatched;
mod watchdog;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::select;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::Instrument;

use self::guard::{Ended, Guard};
use self::life::{Life, Verdict};
pub(crate) use self::unwatched::Unwatched;
use super::Core;
use super::backoff::Backoff;
use super::events::EventKind;
use super::live::LiveRun;
use super::pulse::add_one;
use crate::job::Definition;
use crate::{
    CancelReason, Cancellation, Lease, Record, RunContext, RunState, SkipReason, TickSpan,
};

/// What is known of a grant beside the lease.
pub(crate) struct Granted {
    /// When the answered request was sent, by both clocks: the lease's life counts from then.
    pub(crate) sent: Instant,
    pub(crate) sent_wall: Timestamp,
    /// Whether the tick was still worth running when it was asked for.
    pub(crate) worth: bool,
    /// The run's place, where the node has a maximum.
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

/// A run that goes on: what its task and its watchdog share.
#[derive(Debug)]
struct Run {
    core: Arc<Core>,
    job: Arc<Definition>,
    lease: Lease,
    /// As it was stored when the run was granted.
    record: Record,
    sent: Instant,
    begun: Instant,
    /// From when on there may be something to do for it.
    watched_from: Instant,
    life: Life,
    cancellation: Cancellation,
}

impl Core {
    /// Runs what was granted, unless the grant comes too late. The future does it all; only that a
    /// grant which is refused is not yet released is known at once, before the job's next tick is
    /// queued.
    pub(crate) fn granted(
        self: &Arc<Self>,
        job: Arc<Definition>,
        lease: Lease,
        mut record: Record,
        granted: Granted,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        record.token = Some(lease.token);
        let life = Life::new(job.ttl, granted.sent, granted.sent_wall);
        let begun = Instant::now();
        let refused = if begun >= life.drop_at() {
            Some((RunState::LockLost, "the grant was heard of past its deadline"))
        } else if self.closing.is_cancelled() {
            Some((RunState::Cancelled, "granted during a shutdown, after its deadline"))
        } else if !granted.worth {
            Some((
                RunState::Skipped(SkipReason::TooLate),
                "granted when its time was over: its successor was due, or start_within had passed",
            ))
        } else {
            None
        };
        if let Some((state, why)) = refused {
            let ending = self.endings.begin(&job.id);
            let done = ended(record, state, self.clock.now()).with_error(why);
            let (core, unsaved) = (self.clone(), self.outbox.with_end());
            return Box::pin(async move {
                core.conclude(&job, &lease, done).await;
                drop((ending, unsaved));
            });
        }
        let cancellation = Cancellation::default();
        let Granted { sent, place, .. } = granted;
        let (core, watched_from) = (self.clone(), begun);
        let mut run =
            Run { core, job, lease, record, sent, begun, watched_from, life, cancellation };
        run.watched_from = run.watched_from();
        Box::pin(Arc::new(run).execute(place))
    }

    /// Releases the lock and stores how the run ended, trying until one or the other is in.
    pub(crate) fn conclude<'a>(
        self: &'a Arc<Self>,
        job: &'a Definition,
        lease: &'a Lease,
        done: Record,
    ) -> impl Future<Output = ()> + Send + 'a {
        let begun = Instant::now();
        let mut backoff = Backoff::quick();
        async move {
            loop {
                let error = match self.finish(lease, &done, job.ttl).await {
                    Ok(finished) => {
                        if let Some(error) = finished.unsaved {
                            self.failed(Some(&job.id), &error);
                            self.save_later(done);
                        }
                        return;
                    }
                    Err(error) => error,
                };
                self.failed(Some(&job.id), &error);
                let expired = begun.elapsed() >= job.ttl;
                if expired && error.is_retryable() {
                    // By this node's time, and only the record matters; by the store's, the lock
                    // may be held: etcd begins the lives of its leases anew when it starts and when
                    // its leader changes.
                    self.release_later(job, lease.clone());
                }
                if expired || !error.is_retryable() {
                    return self.save_later(done);
                }
                tokio::time::sleep(backoff.next(self)).await;
            }
        }
    }
}

impl Core {
    /// Releases a lock as soon as the backend can be asked; until then, no tick of its job is asked
    /// for here.
    fn release_later(self: &Arc<Self>, job: &Definition, lease: Lease) {
        let (core, id, ttl) = (self.clone(), job.id.clone(), job.ttl);
        let ending = self.endings.begin(&id);
        self.spawn(async move {
            // The job's next tick waits for it.
            let mut backoff = Backoff::quick();
            while let Err(error) = core.release(&lease, ttl).await {
                core.failed(Some(&id), &error);
                if !error.is_retryable() {
                    break;
                }
                select! {
                    biased;
                    () = core.closing.cancelled() => break,
                    () = tokio::time::sleep(backoff.next(&core)) => {}
                }
            }
            drop(ending);
        });
    }
}

impl Run {
    async fn execute(self: Arc<Self>, place: Option<OwnedSemaphorePermit>) {
        let (core, job, run_id) = (&self.core, &self.job, self.record.run_id);
        let occurrence = self.record.occurrence;
        let cancellation = self.cancellation.clone();
        let (id, grace) = (job.id.clone(), job.grace);
        let live = LiveRun { job: id, occurrence, cancellation, grace, overdue: false };
        core.live.enter(run_id, live);
        if core.closing.is_cancelled() {
            // The shutdown may just have told all runs to stop, before it could see this one.
            self.cancellation.cancel(CancelReason::Shutdown);
        }
        add_one(&core.pulse.runs);
        core.event(Some(&job.id), EventKind::RunStarted { run_id, occurrence });
        let span = tracing::info_span!(
            "run", job = %job.id, run = %run_id, node = %core.node,
            occurrence = occurrence.map(tracing::field::display)
        );
        if core.unwatched.enter(&self) {
            // A task that was just woken may be tied to this worker until the next await: beside a
            // handler that does not yield, the watchdog would never begin.
            yield_now().await;
        }

        let context = self.context();
        let ended = Guard::new(context.clone(), self.clone()).instrument(span.clone()).await;
        let ending = core.endings.begin(&job.id);
        let at = core.clock.now();
        let verdict = self.life.verdict(Instant::now(), at);
        drop(place);
        // No renewal may come behind the release.
        if !core.unwatched.leave(&self) {
            self.life.watch().stop.cancel();
            self.life.watch().stopped.cancelled().await;
        }

        if !self.life.is_closed() {
            // Made where it is used, so that it is not kept beside.
            let done = || {
                let done = self.done(verdict, ended, context.take_note(), at);
                tracing::info!(parent: &span, state = %done.state, error = done.error(), "run ended");
                core.event(Some(&job.id), EventKind::RunEnded { run_id, state: done.state });
                done
            };
            core.conclude(job, &self.lease, done()).await;
        }
        drop(ending);
        core.live.leave(run_id);
    }

    /// When its lock is renewed first, if it is at all.
    fn first_renewal(&self) -> Option<Instant> {
        self.job.renewed.then(|| self.sent + self.job.ttl / 3)
    }

    fn timeout_at(&self) -> Option<Instant> {
        self.job.timeout.map(|timeout| self.begun + timeout)
    }

    fn watched_from(&self) -> Instant {
        let sooner = self.first_renewal().into_iter().chain(self.timeout_at());
        sooner.fold(self.life.cancel_at(), Instant::min)
    }

    /// What its lease allows now.
    fn verdict(&self) -> Verdict {
        self.life.verdict(Instant::now(), self.core.clock.now())
    }

    fn context(&self) -> RunContext {
        let backend = self.core.backend.clone();
        RunContext::new(&self.record, self.lease.token, self.cancellation.clone(), backend)
    }

    /// The final record.
    fn done(&self, verdict: Verdict, how: Ended, note: Option<String>, at: Timestamp) -> Record {
        let (state, error) = match how {
            Ended::Succeeded => (RunState::Succeeded, None),
            Ended::Failed(text) => (RunState::Failed, Some(text)),
            Ended::Panicked(text) => (RunState::Panicked, Some(format!("panic: {text}"))),
            // Only a run that was told to stop, or whose lease is dead, is dropped.
            Ended::Dropped => (RunState::LockLost, None),
        };
        let state = match (verdict, self.cancellation.reason()) {
            // A run that cannot prove its lease has not succeeded, whatever it says.
            (Verdict::Dead, _) => RunState::LockLost,
            (_, Some(reason)) => stopped(reason),
            (_, None) => state,
        };
        let error = error.or_else(|| match (state, self.job.timeout) {
            (RunState::TimedOut, Some(timeout)) => Some(format!("timed out after {timeout:?}")),
            (RunState::LockLost, _) => Some("the lock was lost, or not renewed in time".into()),
            _ => None,
        });
        let mut done = ended(self.record.clone(), state, at);
        if let Some(error) = error {
            done = done.with_error(error);
        }
        match note {
            Some(note) => done.with_note(note),
            None => done,
        }
    }
}

/// The record of a run that ended without its handler being called, or after it.
pub(crate) fn ended(mut record: Record, state: RunState, at: Timestamp) -> Record {
    record.state = state;
    record.ended = Some(at);
    if matches!(state, RunState::Skipped(SkipReason::TooLate)) {
        record.ticks = record.occurrence.map(TickSpan::one);
    }
    record
}

/// The state of a run that ended after it was told to stop.
fn stopped(reason: CancelReason) -> RunState {
    match reason {
        CancelReason::Timeout => RunState::TimedOut,
        CancelReason::LockLost => RunState::LockLost,
        CancelReason::Shutdown | CancelReason::Replaced | CancelReason::Operator => {
            RunState::Cancelled
        }
    }
}
