//! What is locked.

use std::fmt;

use crate::JobId;

/// What mark, token, open runs and lock belong to: a job (later: a job's shard).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockKey {
    job: JobId,
}

impl LockKey {
    /// The key of a whole job.
    pub fn of(job: &JobId) -> Self {
        Self { job: job.clone() }
    }

    /// Whose key it is.
    pub fn job(&self) -> &JobId {
        &self.job
    }
}

impl fmt::Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.job, f)
    }
}
