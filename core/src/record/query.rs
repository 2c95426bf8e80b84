//! Asking for records.

use crate::JobId;

/// Which records to list: those of one job, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordQuery {
    /// Whose.
    pub job: JobId,
    /// How many at most.
    pub limit: usize,
}

impl RecordQuery {
    /// The newest `limit` records of `job`.
    pub fn newest(job: JobId, limit: usize) -> Self {
        Self { job, limit }
    }
}
