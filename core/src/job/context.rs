//! What a handler knows of its run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::{CancelReason, Cancellation};
use crate::{
    Backend, BackendError, ErrorKind, FencingToken, JobId, NodeId, Occurrence, Record, RecordQuery,
    RunId, RunState,
};

/// How many records are searched for a success.
const LOOK_BACK: usize = 10_000;

/// The longest that a handler waits for records.
const LIST_BOUND: Duration = Duration::from_secs(2);

/// What a handler is given: which run it is, and how to learn that it should stop.
#[derive(Clone, Debug)]
pub struct RunContext {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    job: JobId,
    node: NodeId,
    run_id: RunId,
    occurrence: Option<Occurrence>,
    attempt: u32,
    token: FencingToken,
    cancellation: Cancellation,
    note: Mutex<Option<String>>,
    backend: Arc<dyn Backend>,
}

impl RunContext {
    pub(crate) fn new(
        record: &Record,
        token: FencingToken,
        cancellation: Cancellation,
        backend: Arc<dyn Backend>,
    ) -> Self {
        let inner = Inner {
            job: record.job.clone(),
            node: record.node.clone(),
            run_id: record.run_id,
            occurrence: record.occurrence,
            attempt: record.attempt,
            token,
            cancellation,
            note: Mutex::default(),
            backend,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The job.
    pub fn job(&self) -> &JobId {
        &self.inner.job
    }

    /// The node that runs it.
    pub fn node(&self) -> &NodeId {
        &self.inner.node
    }

    /// This run.
    pub fn run_id(&self) -> RunId {
        self.inner.run_id
    }

    /// The tick that this run is for; `None` for a manual run.
    pub fn occurrence(&self) -> Option<Occurrence> {
        self.inner.occurrence
    }

    /// Which call of the handler within the run this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.inner.attempt
    }

    /// The token to hand to whatever the job writes to: see [`FencingToken`].
    pub fn fencing_token(&self) -> FencingToken {
        self.inner.token
    }

    /// Tells when the run should stop, and why.
    pub fn cancellation(&self) -> &Cancellation {
        &self.inner.cancellation
    }

    /// Waits until the run should stop. Short for `cancellation().cancelled()`.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the call is dropped.
    pub async fn cancelled(&self) -> CancelReason {
        self.inner.cancellation.cancelled().await
    }

    /// Leaves a text in the run's record, in place of an earlier one; what is longer than 4 KiB
    /// is cut.
    pub fn note(&self, text: impl Into<String>) {
        *self.inner.note.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.into());
    }

    pub(crate) fn take_note(&self) -> Option<String> {
        self.inner.note.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The newest run of the job that succeeded, on whichever node, among the newest 10,000
    /// records that the store still keeps. Asks the backend when called.
    ///
    /// # Errors
    ///
    /// The backend could not be asked within 2 s.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed when the call is dropped.
    pub async fn previous_success(&self) -> Result<Option<Record>, BackendError> {
        let query = RecordQuery::newest(self.inner.job.clone(), LOOK_BACK);
        let records = timeout(LIST_BOUND, self.inner.backend.list(&query))
            .await
            .map_err(|_| BackendError::new(ErrorKind::Timeout, "backend", "list"))??;
        Ok(records.into_iter().find(|record| record.state == RunState::Succeeded))
    }
}
