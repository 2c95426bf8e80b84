//! What all parts of a scheduler share.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, RngExt};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ending::Endings;
use super::events::{EventKind, Events};
use super::live::Live;
use super::looks::Looks;
use super::outbox::Outbox;
use super::pulse::Pulse;
use super::run::Unwatched;
use super::skew::SkewMeter;
use super::table::Table;
use crate::{Backend, BackendError, Clock, ClockPolicy, Holder, JobId, NodeId, RunId, Spawner};

/// How many acquires a node has under way at most. Renewals, finishes and saves do not count.
pub(crate) const MAX_ASKS: usize = 64;

/// How many jobs are looked up at a time.
pub(crate) const MAX_LOOKS: usize = 16;

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) node: NodeId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawner: Arc<dyn Spawner>,
    pub(crate) clock_policy: ClockPolicy,
    pub(crate) max_ahead: Duration,
    table: Mutex<Table>,
    /// Wakes the ticker before the end of its nap.
    pub(crate) wake: Notify,
    /// Tells that the backend's clock is to be asked for.
    pub(crate) stale: Notify,
    pub(crate) meter: SkewMeter,
    pub(crate) skew_told: super::clock_watch::SkewTold,
    pub(crate) events: Events,
    pub(crate) outbox: Outbox,
    pub(crate) asks: Semaphore,
    pub(crate) looks: Semaphore,
    pub(crate) looks_to_come: Looks,
    /// A place for each run, where the node has a maximum.
    pub(crate) places: Option<Arc<Semaphore>>,
    random: Mutex<StdRng>,
    pub(crate) live: Live,
    pub(crate) unwatched: Unwatched,
    pub(crate) endings: Endings,
    /// Everything that has to end before a shutdown is done.
    pub(crate) tracker: TaskTracker,
    /// No tick is asked for any more.
    pub(crate) stopping: CancellationToken,
    /// The shutdown's deadline is over: nothing is waited for any more.
    pub(crate) closing: CancellationToken,
    pub(crate) pulse: Pulse,
}

/// What a scheduler is built of.
pub(crate) struct Parts {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) node: NodeId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawner: Arc<dyn Spawner>,
    pub(crate) clock_policy: ClockPolicy,
    pub(crate) max_ahead: Duration,
    pub(crate) max_running: Option<usize>,
    pub(crate) random: StdRng,
}

impl Core {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            backend: parts.backend,
            events: Events::new(parts.node.clone()),
            node: parts.node,
            clock: parts.clock,
            spawner: parts.spawner,
            clock_policy: parts.clock_policy,
            max_ahead: parts.max_ahead,
            table: Mutex::default(),
            wake: Notify::new(),
            stale: Notify::new(),
            meter: SkewMeter::default(),
            skew_told: super::clock_watch::SkewTold::default(),
            outbox: Outbox::default(),
            asks: Semaphore::new(MAX_ASKS),
            looks: Semaphore::new(MAX_LOOKS),
            looks_to_come: Looks::default(),
            places: parts
                .max_running
                .map(|most| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))),
            random: Mutex::new(parts.random),
            live: Live::default(),
            unwatched: Unwatched::default(),
            endings: Endings::default(),
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
            closing: CancellationToken::new(),
            pulse: Pulse::default(),
        }
    }

    /// Starts a task that a shutdown waits for.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawner.spawn(Box::pin(self.tracker.track_future(task)));
    }

    /// The table of jobs. Never held while anything waits, or while a user's code runs.
    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of a run and of its acquisition.
    pub(crate) fn new_names(&self) -> (RunId, Holder) {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bits = || u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let (run, holder) = (bits(), bits());
        drop(random);
        (RunId::new(run), Holder::new(&self.node, holder))
    }

    /// From 0 to 1.
    pub(crate) fn random_fraction(&self) -> f64 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).random()
    }

    pub(crate) fn event(&self, job: Option<&JobId>, kind: EventKind) {
        if self.events.is_heard() {
            self.events.send(self.clock.now(), job, kind);
        }
    }

    /// Tells of a failed call.
    pub(crate) fn failed(&self, job: Option<&JobId>, error: &BackendError) {
        self.pulse.failed_calls.fetch_add(1, Ordering::Relaxed);
        let kind = EventKind::from(error);
        if let EventKind::BackendFailed { message, .. } = &kind {
            let job = job.map(JobId::as_str);
            if error.is_retryable() {
                tracing::debug!(node = %self.node, job, error = message, "backend call failed");
            } else {
                tracing::warn!(node = %self.node, job, error = message, "backend call failed");
            }
        }
        self.event(job, kind);
    }
}
