//! Cron for a fleet: every node works out the ticks of every job by itself, and a lock at a shared
//! backend makes exactly one of them run each tick.
//!
//! This crate has the schedules, the engine and the traits; a backend is a crate of its own, such
//! as `tidelock-memory`. A service registers its [`Job`]s with a [`Scheduler`], starts it, and
//! shuts it down when it ends:
//!
//! ```
//! use std::time::Duration;
//! use tidelock::{Backend, Job, Scheduler};
//!
//! # async fn sync_rates() -> Result<(), std::io::Error> { Ok(()) }
//! async fn serve(backend: impl Backend) -> Result<(), Box<dyn std::error::Error>> {
//!     let rates = Job::new("rate-sync").cron("*/5 * * * *")?.run(|_| sync_rates());
//!     let scheduler = Scheduler::builder(backend).node_id("billing-1")?.job(rates)?.start().await?;
//!
//!     // ... until the service is told to stop:
//!     let report = scheduler.shutdown(Duration::from_secs(30)).await;
//!     assert!(report.still_running.is_empty());
//!     Ok(())
//! }
//! ```
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | job | what is registered: id, schedule, policies, handler ([`Job`]) |
//! | occurrence, tick | one scheduled instant of one job ([`Occurrence`]); it comes from the schedule, never from a node's clock |
//! | run | one execution of an occurrence, or of a manual trigger ([`RunId`]) |
//! | attempt | one call of the handler within a run |
//! | node | one scheduler instance ([`NodeId`]) |
//! | lock, lease | mutual exclusion at the backend, with expiry; what its holder has in hand ([`Lease`]) |
//! | holder | one acquisition of a lock ([`Holder`]), never a node |
//! | fencing token | a number that grows with every grant of a job ([`FencingToken`]) |
//! | mark | per job, the newest occurrence that was granted or deliberately consumed ([`Mark`]) |
//! | open run | a run granted and not yet released ([`OpenRun`]) |
//! | record | what is stored about a run, or about ticks that did not run and why ([`Record`]) |
//!
//! # How a tick is run
//!
//! When a tick is due each node asks the backend for it ([`Backend::begin`]). In one atomic step
//! the backend looks at the mark, takes the lock and moves the mark: one node is granted the tick,
//! the others learn that it was taken. That node calls the handler, renews the lock every third of
//! its TTL while the handler runs, and ends with [`Backend::finish`]. The handler is polled through
//! its lease: when the backend cannot be reached it is told to stop at 4/5 of the TTL and dropped
//! at 9/10, before anybody else can be granted the lock.
//!
//! # Time
//!
//! Which tick is due is decided by the node's wall clock ([`Clock`]); leases, timeouts and waits go
//! by tokio's monotonic time; the expiry of locks and what is too early go by the backend's clock.
//! From the clock in each answer a node knows its own skew, and tells of it ([`EventKind`],
//! [`Health`]).
//!
//! # Your own backend
//!
//! Implement [`LockBackend`] and [`RecordStore`] along their numbered contracts, and hand both to
//! [`Scheduler::combined`]. [`stored`] writes records as texts. The crate `tidelock-tests` has the conformance suite that proves each
//! line.

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

pub use backend::{
    Answer, Backend, BackendError, Begun, Combined, ErrorKind, Finding, Finished, Preflight,
    Severity,
};
pub use clock::{Clock, ClockPolicy, SystemClock, TestClock};
pub use engine::{Event, EventKind, EventStream, RunNowError, Skew};
pub use id::{IdError, JobId, MAX_ID_BYTES, NodeId};
pub use job::{
    CancelReason, Cancellation, HandlerResult, Job, JobBuilder, JobError, Misfire, RunContext,
};
pub use lock::{
    AcquireRequest, Acquisition, Clear, Consumed, FencingToken, Grant, HeldBy, IfHeld, Intent,
    Lease, LockBackend, LockKey, LockState, Mark, MarkPoint, Moved, OpenRun, PassedOver, Release,
    Renewal, SkippedRow, Taken, Untold,
};
pub use occurrence::Occurrence;
pub use record::stored;
pub use record::{Record, RecordQuery, RecordStore, RunState, RunStateError, SkipReason, TickSpan};
pub use run_id::{Holder, RunId, RunIdError};
pub use schedule::{
    Effect, ExplainedTick, Field, Fingerprint, Occurrences, OnGap, OnRepeat, ParseFingerprintError,
    Schedule, ScheduleError, ScheduleErrorKind, TickCount,
};
pub use scheduler::{
    Control, Health, HistoryError, JobStatus, LeftRun, Scheduler, SchedulerBuilder, ShutdownReport,
    StartError,
};
pub use spawn::{Spawner, Task, TokioSpawner};
