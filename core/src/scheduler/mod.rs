//! The scheduler: what a service embeds.

mod builder;
mod control;
mod health;
mod history;
mod shutdown;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use builder::{SchedulerBuilder, StartError};
pub use control::Control;
pub use health::{Health, JobStatus};
pub use history::HistoryError;
pub use shutdown::{LeftRun, ShutdownReport};

use crate::{Backend, Combined, LockBackend, RecordStore};

/// One node's scheduler, running.
///
/// What it can be told is on [`Control`], to which it derefs. Dropped without
/// [`shutdown`](Self::shutdown) it cancels what can be cancelled, and no lock outlives its TTL.
#[derive(Debug)]
#[must_use = "a scheduler stops when it is dropped: bind it to a name (`let _ =` drops it at once)"]
pub struct Scheduler {
    control: Control,
}

impl Scheduler {
    /// Begins a scheduler over a backend.
    ///
    /// A backend in an `Arc` can be shared by several.
    pub fn builder(backend: impl Backend) -> SchedulerBuilder {
        SchedulerBuilder::new(Arc::new(backend))
    }

    /// Begins a scheduler with its locks at one backend and its records at another.
    pub fn combined(locks: impl LockBackend, records: impl RecordStore) -> SchedulerBuilder {
        Self::builder(Combined::new(locks, records))
    }

    fn new(control: Control) -> Self {
        Self { control }
    }

    /// A handle to work the scheduler with, to be cloned and given away.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Stops in order: no tick is asked for any more; runs go on until the deadline, their locks
    /// renewed; what still runs then is told to stop, and dropped after its grace.
    ///
    /// Returns when all runs have ended and their records are stored, at the latest 3 s after
    /// deadline and the longest grace.
    ///
    /// # Cancel safety
    ///
    /// When the call is dropped the scheduler is, too.
    pub async fn shutdown(self, deadline: Duration) -> ShutdownReport {
        shutdown::shut_down(&self.control.core, deadline).await
    }
}

impl Deref for Scheduler {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        shutdown::cancel(&self.control.core);
    }
}
