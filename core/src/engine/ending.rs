//! The runs of this node that are over, and whose locks are not yet known to be free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::select;
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::JobId;

/// Runs that are over and not yet released, of all jobs.
#[derive(Debug, Default)]
pub(crate) struct Endings(Arc<Mutex<Vec<(JobId, CancellationToken)>>>);

/// One of them; dropped once its lock is free, or has expired.
#[derive(Debug)]
pub(crate) struct Ending {
    all: Arc<Mutex<Vec<(JobId, CancellationToken)>>>,
    over: CancellationToken,
}

impl Endings {
    pub(crate) fn begin(&self, job: &JobId) -> Ending {
        let over = CancellationToken::new();
        lock(&self.0).push((job.clone(), over.clone()));
        Ending { all: Arc::clone(&self.0), over }
    }

    fn of(&self, job: &JobId) -> Option<CancellationToken> {
        lock(&self.0).iter().find(|(id, _)| id == job).map(|(_, over)| over.clone())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.over.cancel();
        lock(&self.all).retain(|(_, over)| !over.is_cancelled());
    }
}

impl Core {
    /// Waits for the ends of this node's own runs of that job: a tick that is asked for before
    /// would find the lock in its way and be skipped, for a run that is over. That lasts for as long
    /// as the backend cannot be asked to release it, when no tick would be granted either.
    pub(super) async fn own_runs_ended(&self, job: &JobId) {
        while let Some(over) = self.endings.of(job) {
            select! {
                biased;
                () = self.stopping.cancelled() => return,
                () = over.cancelled() => {}
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
