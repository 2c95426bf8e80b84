//! The runs of this node that are over, and whose locks are not yet known to be free.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::select;
use tokio_util::sync::CancellationToken;

use super::Core;
use super::hash::Seeded;
use crate::JobId;

/// The jobs that have runs which are over and not yet released.
#[derive(Debug, Default)]
pub(crate) struct Endings(Arc<All>);

#[derive(Debug, Default)]
struct All {
    jobs: Mutex<HashMap<JobId, OfJob, Seeded>>,
    /// How many jobs there are: mostly none, and then who asks needs no lock.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct OfJob {
    count: usize,
    /// Made when somebody waits for the last of them.
    over: Option<CancellationToken>,
}

/// One of those runs; dropped once its lock is free, or has expired.
#[derive(Debug)]
pub(crate) struct Ending {
    all: Arc<All>,
    job: JobId,
}

impl Endings {
    pub(crate) fn begin(&self, job: &JobId) -> Ending {
        let mut jobs = self.0.jobs();
        jobs.entry(job.clone()).or_default().count += 1;
        self.0.count.store(jobs.len(), Ordering::Release);
        drop(jobs);
        Ending { all: Arc::clone(&self.0), job: job.clone() }
    }

    /// What fires when the last one of that job is over, if there is any.
    pub(super) fn of(&self, job: &JobId) -> Option<CancellationToken> {
        if self.0.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.0.jobs().get_mut(job).map(|endings| endings.over.get_or_insert_default().clone())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let mut jobs = self.all.jobs();
        let Some(of_job) = jobs.get_mut(&self.job) else { return };
        of_job.count -= 1;
        if of_job.count > 0 {
            return;
        }
        let over = jobs.remove(&self.job).and_then(|of_job| of_job.over);
        self.all.count.store(jobs.len(), Ordering::Release);
        drop(jobs);
        if let Some(over) = over {
            over.cancel();
        }
    }
}

impl Core {
    /// Waits for the ends of this node's own runs of that job: a tick that is asked for before
    /// would find the lock in its way and be skipped, for a run that is over. That lasts for as long
    /// as the backend cannot be asked to release it, when no tick would be granted either.
    pub(super) async fn own_runs_ended(&self, job: &JobId, mut over: CancellationToken) {
        loop {
            select! {
                biased;
                () = self.stopping.cancelled() => return,
                () = over.cancelled() => {}
            }
            match self.endings.of(job) {
                Some(next) => over = next,
                None => return,
            }
        }
    }
}

impl All {
    fn jobs(&self) -> MutexGuard<'_, HashMap<JobId, OfJob, Seeded>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
