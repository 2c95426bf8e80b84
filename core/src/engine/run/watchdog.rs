//! Keeps a run's lock, and tells the run when to stop.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until};

use super::{Run, ended};
use crate::engine::backoff::Backoff;
use crate::engine::events::EventKind;
use crate::{BackendError, CancelReason, Renewal, RunState};

/// How long after it was to be dropped a handler counts as one that cannot be stopped.
const OVERDUE: Duration = Duration::from_secs(1);

/// What asking about the lease has settled.
enum Settled {
    Renewed,
    StillHeld,
    Lost,
}

type Asking = Pin<Box<dyn Future<Output = Result<Settled, BackendError>> + Send>>;

/// Watches one run until it is over, in a task of its own, so that a handler that does not yield
/// is watched all the same.
pub(super) struct Watchdog {
    run: Arc<Run>,
    _tells_stopped: TellsStopped,
    asking: Option<(Instant, jiff::Timestamp, Asking)>,
    next_renewal: Option<Instant>,
    backoff: Backoff,
    timeout_at: Option<Instant>,
    /// When a run that was told to stop has had its grace.
    grace_until: Option<Instant>,
    overdue_at: Option<Instant>,
}

/// Tells the run's task that the watchdog has ended, even when it was dropped.
struct TellsStopped(Arc<Run>);

impl Drop for TellsStopped {
    fn drop(&mut self) {
        self.0.life.watch().stopped.cancel();
    }
}

impl Watchdog {
    pub(super) fn new(run: Arc<Run>) -> Self {
        let job = &run.job;
        Self {
            _tells_stopped: TellsStopped(run.clone()),
            asking: None,
            next_renewal: run.first_renewal(),
            backoff: Backoff::new(job.ttl / 60, job.ttl / 15),
            timeout_at: run.timeout_at(),
            grace_until: None,
            overdue_at: None,
            run,
        }
    }

    pub(super) async fn watch(mut self) {
        let run = self.run.clone();
        loop {
            let wake = self.step(Instant::now()).await;
            let told = self.grace_until.is_some();
            let asking = self.asking.as_mut();
            let idle = asking.is_none();
            select! {
                biased;
                () = run.life.watch().stop.cancelled() => return,
                result = answer(asking) => self.settled(result),
                () = run.life.renew_now.notified(), if idle => self.ask(),
                _ = run.cancellation.cancelled(), if !told => {}
                // Whatever a call uses up of what a task may do at a time.
                () = unconstrained(sleep_until(wake)) => {}
            }
        }
    }

    /// Does what is due, and tells when something will be next.
    async fn step(&mut self, now: Instant) -> Instant {
        let run = self.run.clone();
        let (job, cancellation) = (&run.job, &run.cancellation);
        if self.timeout_at.is_some_and(|at| now >= at) {
            self.timeout_at = None;
            cancellation.cancel(CancelReason::Timeout);
        }
        let lost = self.run.life.is_lost();
        if !lost && now >= self.run.life.cancel_at() {
            cancellation.cancel(CancelReason::LockLost);
        }
        if !lost && now >= self.run.life.drop_at() {
            self.lost();
        }
        if let (Some(reason), None) = (cancellation.reason(), self.grace_until) {
            // What may lose its lock has until then, whatever its grace.
            let lock_lost = reason == CancelReason::LockLost;
            self.grace_until =
                Some(if lock_lost { self.run.life.drop_at() } else { now + job.grace });
        }
        if self.grace_until.is_some_and(|at| now >= at) && self.overdue_at.is_none() {
            self.run.life.drop_handler();
            self.overdue_at = Some(now + OVERDUE);
        }
        if self.overdue_at.is_some_and(|at| now >= at) {
            self.overdue().await;
        }
        if self.asking.is_none() && self.next_renewal.is_some_and(|at| now >= at) {
            self.ask();
        }
        self.next_wake(now)
    }

    fn next_wake(&self, now: Instant) -> Instant {
        let lost = self.run.life.is_lost();
        let lease = (!lost).then(|| {
            let cancel_at = self.run.life.cancel_at();
            if now < cancel_at { cancel_at } else { self.run.life.drop_at() }
        });
        let grace = self.grace_until.filter(|_| self.overdue_at.is_none());
        let renewal = self.next_renewal.filter(|_| self.asking.is_none());
        let overdue = self.overdue_at.filter(|at| *at > now);
        [lease, self.timeout_at, grace, overdue, renewal]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(now + FAR)
            .max(now)
    }

    /// Asks the backend about the lease: to renew it or, where it has a fixed life, whether it is
    /// still held.
    fn ask(&mut self) {
        if self.run.life.is_lost() {
            return;
        }
        let run = self.run.clone();
        let (core, sent) = (run.core.clone(), Instant::now());
        let sent_wall = core.clock.now();
        let asking: Asking = if run.job.renewed {
            Box::pin(async move {
                Ok(match core.renew(&run.lease, run.job.ttl).await? {
                    Renewal::Renewed => Settled::Renewed,
                    Renewal::Lost => Settled::Lost,
                })
            })
        } else {
            Box::pin(async move {
                let held = core.inspect(&run.lease.key).await?.held;
                let mine = held.is_some_and(|held| held.holder == run.lease.holder);
                Ok(if mine { Settled::StillHeld } else { Settled::Lost })
            })
        };
        self.asking = Some((sent, sent_wall, asking));
    }

    fn settled(&mut self, result: Result<Settled, BackendError>) {
        let Some((sent, sent_wall, _)) = self.asking.take() else {
            return;
        };
        if self.run.life.is_lost() {
            // Heard of too late: a lost lock is not renewed again.
            return;
        }
        match result {
            Ok(Settled::Renewed) => {
                self.run.life.renewed(sent, sent_wall);
                self.next_renewal = Some(sent + self.run.job.ttl / 3);
                self.backoff = Backoff::new(self.run.job.ttl / 60, self.run.job.ttl / 15);
            }
            Ok(Settled::StillHeld) => {
                self.run.life.still_held(sent, sent_wall);
                self.next_renewal = None;
            }
            Ok(Settled::Lost) => self.lost(),
            Err(error) => {
                let core = &self.run.core;
                core.failed(Some(&self.run.job.id), &error);
                self.next_renewal = Some(Instant::now() + self.backoff.next(core));
            }
        }
    }

    /// The lock is lost: the handler is dropped at once, since another run may have begun.
    fn lost(&mut self) {
        let run = &self.run;
        tracing::warn!(node = %run.core.node, job = %run.job.id, run = %run.record.run_id, "lock lost");
        self.next_renewal = None;
        run.cancellation.cancel(CancelReason::LockLost);
        self.run.life.lose();
        self.overdue_at = Some(Instant::now() + OVERDUE);
        self.grace_until = Some(Instant::now());
    }

    /// The handler was to be dropped and goes on: it does not yield, or runs on a thread. Its
    /// record says so, and its lock is kept and renewed until it ends, unless it is lost or the
    /// job is to release it.
    async fn overdue(&mut self) {
        self.overdue_at = Some(Instant::now() + FAR);
        let (run, core) = (&self.run, &self.run.core);
        core.live.overdue(run.record.run_id);
        core.event(Some(&run.job.id), EventKind::RunOverdue { run_id: run.record.run_id });
        let timed_out = run.cancellation.reason() == Some(CancelReason::Timeout);
        let mut record = run.record.clone();
        record.still_running = true;
        if self.run.life.is_lost() || (timed_out && run.job.force_release) {
            let state =
                if self.run.life.is_lost() { RunState::LockLost } else { RunState::TimedOut };
            self.run.life.close();
            self.next_renewal = None;
            self.asking = None;
            let done = ended(record, state, core.clock.now());
            let run_id = run.record.run_id;
            core.event(Some(&run.job.id), EventKind::RunEnded { run_id, state });
            core.conclude(&run.job, &run.lease, done).await;
            // What the lease does from here on concerns this run no more.
            self.run.life.lose();
        } else {
            core.save_later(record);
        }
    }
}

/// About a year: a wake that never comes in the life of a run.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// The answer to what was asked, or nothing for ever.
async fn answer(
    asking: Option<&mut (Instant, jiff::Timestamp, Asking)>,
) -> Result<Settled, BackendError> {
    match asking {
        Some((_, _, asking)) => asking.await,
        None => std::future::pending().await,
    }
}
