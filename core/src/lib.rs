//! Cron for a fleet.

mod backend;
mod clock;
mod engine;
mod id;
mod job;
mod lock;
mod occurrence;
mod record;
mod run_id;
mod schedule;
mod scheduler;
mod spawn;

pub use backend::{Answer, Backend, BackendError, Begun, Combined, ErrorKind, Finished};
pub use clock::{Clock, SystemClock, TestClock};
pub use engine::{Event, EventKind, EventStream, RunNowError, Skew};
pub use id::{IdError, JobId, MAX_ID_BYTES, NodeId};
pub use job::{
    CancelReason, Cancellation, HandlerResult, Job, JobBuilder, JobError, Misfire, RunContext,
};
pub use lock::{
    AcquireRequest, Acquisition, Clear, Consumed, FencingToken, Grant, HeldBy, IfHeld, Intent,
    Lease, LockBackend, LockKey, LockState, Mark, MarkPoint, Moved, OpenRun, Release, Renewal,
    Taken,
};
pub use occurrence::Occurrence;
pub use record::{Record, RecordQuery, RecordStore, RunState, RunStateError, SkipReason, TickSpan};
pub use run_id::{Holder, RunId, RunIdError};
pub use schedule::{
    Effect, ExplainedTick, Field, Fingerprint, Occurrences, OnGap, OnRepeat, ParseFingerprintError,
    Schedule, ScheduleError, ScheduleErrorKind, TickCount,
};
pub use scheduler::{
    ClockPolicy, Control, Health, HistoryError, JobStatus, LeftRun, Scheduler, SchedulerBuilder,
    ShutdownReport, StartError,
};
pub use spawn::{Spawner, Task, TokioSpawner};
