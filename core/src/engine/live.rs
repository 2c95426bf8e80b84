//! The runs of this node that have not ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::{CancelReason, Cancellation, JobId, Occurrence, RunId};

/// A run that goes on.
#[derive(Clone, Debug)]
pub(crate) struct LiveRun {
    pub(crate) job: JobId,
    pub(crate) occurrence: Option<Occurrence>,
    pub(crate) cancellation: Cancellation,
    pub(crate) grace: std::time::Duration,
    /// It was told to stop and did not: it does not yield, or runs on a thread.
    pub(crate) overdue: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Live {
    runs: Mutex<BTreeMap<RunId, LiveRun>>,
    /// How many of them are overdue: mostly none.
    overdue: AtomicUsize,
    changed: Notify,
    /// Whether anybody ever waited for a change: else it is told to nobody.
    waited: AtomicBool,
}

impl Live {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, LiveRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, run: RunId, live: LiveRun) {
        self.runs().insert(run, live);
    }

    pub(crate) fn leave(&self, run: RunId) {
        let left = self.runs().remove(&run);
        if left.is_some_and(|run| run.overdue) {
            self.overdue.fetch_sub(1, Ordering::Relaxed);
        }
        self.tell();
    }

    pub(crate) fn overdue(&self, run: RunId) {
        if let Some(live) = self.runs().get_mut(&run)
            && !std::mem::replace(&mut live.overdue, true)
        {
            self.overdue.fetch_add(1, Ordering::Relaxed);
        }
        self.tell();
    }

    /// Fires when a run ends or turns out not to stop, from now on: to be had before looking at
    /// those that go on.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.waited.store(true, Ordering::Release);
        self.changed.notified()
    }

    fn tell(&self) {
        // Who waits has said so before it had the lock, under which the change was made.
        if self.waited.load(Ordering::Acquire) {
            self.changed.notify_waiters();
        }
    }

    /// Tells all runs to stop; how many had not been told before.
    pub(crate) fn cancel_all(&self, reason: CancelReason) -> usize {
        let runs: Vec<_> = self.runs().values().map(|run| run.cancellation.clone()).collect();
        let told = runs.iter().filter(|run| !run.is_cancelled()).count();
        runs.iter().for_each(|run| run.cancel(reason));
        told
    }

    pub(crate) fn all(&self) -> Vec<(RunId, LiveRun)> {
        self.runs().iter().map(|(id, run)| (*id, run.clone())).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.runs().len()
    }

    /// Whether code of an earlier run of that job goes on that could not be stopped.
    pub(crate) fn has_overdue(&self, job: &JobId) -> bool {
        self.overdue.load(Ordering::Relaxed) > 0
            && self.runs().values().any(|run| run.overdue && run.job == *job)
    }
}
