//! Why a job was not taken.

use std::time::Duration;

use crate::{IdError, JobId, ScheduleError};

/// Why a job was not taken. Nothing of it has been registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The id is none.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A job of that id is registered already.
    #[error("job {0} is registered already: expected another id, or a call of replace")]
    Duplicate(JobId),
    /// The job has no schedule.
    #[error("job {0} has no schedule: expected one of cron, every, once or schedule")]
    NoSchedule(JobId),
    /// The schedule cannot be used.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The job's own schedule panicked when it was asked for its first tick.
    #[error("the schedule of job {job} panicked: {message}")]
    SchedulePanicked {
        /// Which job.
        job: JobId,
        /// What the panic said.
        message: String,
    },
    /// A fixed lease on a blocking handler, which cannot be stopped when the lease ends.
    #[error("job {0} has a fixed lease and a blocking handler: expected a lease that is renewed")]
    FixedLeaseBlocking(JobId),
    /// A duration out of its range.
    #[error("{what} of job {job} is {found:?}: expected {expected}")]
    Duration {
        /// Which job.
        job: JobId,
        /// Which setting.
        what: &'static str,
        /// What it is.
        found: Duration,
        /// What would do.
        expected: &'static str,
    },
    /// A fixed lease without a length.
    #[error("job {0} has a fixed lease and neither a timeout nor a lock TTL: expected one of them")]
    FixedLeaseUnbounded(JobId),
    /// The scheduler has been shut down.
    #[error("the scheduler has been shut down")]
    ShutDown,
}
