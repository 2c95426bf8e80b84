//! Stopping in order.

use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::time::{Instant, sleep_until};

use crate::engine::Core;
use crate::{CancelReason, JobId, Occurrence, RunId};

/// How long past grace a shutdown waits for runs that were told to stop, and for their records.
const AFTER_GRACE: Duration = Duration::from_secs(3);

/// A run that a shutdown left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftRun {
    /// Which run.
    pub run_id: RunId,
    /// Of which job.
    pub job: JobId,
    /// For which tick; `None`: a manual run.
    pub occurrence: Option<Occurrence>,
}

/// What a shutdown came to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use]
pub struct ShutdownReport {
    /// How many runs were told to stop, because the deadline was over.
    pub cancelled: usize,
    /// Runs that still go on: they do not yield, or run on threads. Their locks are renewed until
    /// they end, while the process lives.
    pub still_running: Vec<LeftRun>,
    /// Records that could not be stored so far. They are tried again while the process lives.
    pub unsaved_records: usize,
    /// Records that were dropped, since the start, because too many waited.
    pub dropped_records: usize,
}

pub(super) async fn shut_down(core: &Arc<Core>, deadline: Duration) -> ShutdownReport {
    tracing::info!(node = %core.node, "shutting down");
    core.stopping.cancel();
    core.tracker.close();
    let until = Instant::now() + deadline.min(FAR);
    select! {
        biased;
        () = core.tracker.wait() => {}
        () = sleep_until(until) => {}
    }
    let cancelled = cancel(core);
    wait_for_the_rest(core, Instant::now() + longest_grace(core) + AFTER_GRACE).await;
    let left = |(run_id, run): (RunId, crate::engine::LiveRun)| LeftRun {
        run_id,
        job: run.job,
        occurrence: run.occurrence,
    };
    let report = ShutdownReport {
        cancelled,
        still_running: core.live.all().into_iter().map(left).collect(),
        unsaved_records: core.outbox.unsaved(),
        dropped_records: core.outbox.dropped(),
    };
    tracing::info!(
        node = %core.node, cancelled, still_running = report.still_running.len(),
        unsaved = report.unsaved_records, "shut down"
    );
    report
}

/// Stops everything that can be stopped, without waiting.
pub(super) fn cancel(core: &Core) -> usize {
    core.stopping.cancel();
    // First: what is granted from here on sees it and does not start.
    core.closing.cancel();
    let told = core.live.cancel_all(CancelReason::Shutdown);
    core.unwatched.watch_all();
    told
}

/// About a year: more than any deadline.
const FAR: Duration = Duration::from_secs(365 * 86_400);

fn longest_grace(core: &Core) -> Duration {
    core.live.all().iter().map(|(_, run)| run.grace).max().unwrap_or_default()
}

/// Waits until all is done, or nothing is left but what cannot be stopped.
async fn wait_for_the_rest(core: &Core, limit: Instant) {
    loop {
        let changed = core.live.changed();
        let only_overdue = {
            let live = core.live.all();
            !live.is_empty() && live.iter().all(|(_, run)| run.overdue)
        };
        if only_overdue && core.outbox.unsaved() == 0 {
            return;
        }
        select! {
            biased;
            () = core.tracker.wait() => return,
            () = changed => {}
            () = sleep_until(limit) => return,
        }
    }
}
