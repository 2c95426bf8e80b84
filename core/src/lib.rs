//! Cron for a fleet.

mod backend;
mod clock;
mod id;
mod lock;
mod occurrence;
mod record;
mod run_id;
pub mod schedule;
mod spawn;

pub use backend::{Answer, Backend, BackendError, Begun, Combined, ErrorKind, Finished};
pub use clock::{Clock, SystemClock, TestClock};
pub use id::{IdError, JobId, MAX_ID_BYTES, NodeId};
pub use lock::{
    AcquireRequest, Acquisition, Clear, Consumed, FencingToken, Grant, HeldBy, IfHeld, Intent,
    Lease, LockBackend, LockKey, LockState, Mark, MarkPoint, Moved, OpenRun, Release, Renewal,
    Taken,
};
pub use occurrence::Occurrence;
pub use record::{Record, RecordQuery, RecordStore, RunState, RunStateError, SkipReason, TickSpan};
pub use run_id::{Holder, RunId, RunIdError};
pub use schedule::Fingerprint;
pub use spawn::{Spawner, Task, TokioSpawner};
