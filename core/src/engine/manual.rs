//! Runs that an operator asks for.

use std::sync::Arc;

use tokio::select;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::Core;
use super::backoff::Backoff;
use super::run::Granted;
use crate::job::Definition;
use crate::lock::{AcquireRequest, Acquisition};
use crate::{BackendError, NodeId, Record, RunId, RunState};

/// Why a job was not run now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunNowError {
    /// No job of that id is registered here.
    #[error("no job of id {0:?} is registered on this node")]
    UnknownJob(String),
    /// Another run of the job holds the lock.
    #[error("run {run_id} on node {node} holds the job's lock")]
    Held {
        /// Which run.
        run_id: RunId,
        /// Where.
        node: NodeId,
    },
    /// The backend could not be asked.
    #[error("the backend could not be asked: {0}")]
    Backend(#[from] BackendError),
    /// The backend's answer makes no sense for a run without a tick.
    #[error("the backend gave an answer that makes no sense for a manual run")]
    Malformed,
    /// The scheduler shuts down.
    #[error("the scheduler has been shut down")]
    ShutDown,
}

impl Core {
    /// Asks for a run without a tick, tells whether it was granted, and runs it.
    pub(crate) async fn run_manually(
        self: Arc<Self>,
        job: Arc<Definition>,
        reply: oneshot::Sender<Result<RunId, RunNowError>>,
    ) {
        let ((run_id, holder), started) = (self.new_names(), self.clock.now());
        let (key, node) = (job.key.clone(), self.node.clone());
        let request =
            AcquireRequest::new(key, holder, run_id, node, None, job.fingerprint, job.ttl);
        let (id, node) = (job.id.clone(), self.node.clone());
        let mut running = Record::new(run_id, id, node, RunState::Running, started);
        let place = match &self.places {
            Some(places) => select! {
                biased;
                () = self.stopping.cancelled() => None,
                place = places.clone().acquire_owned() => place.ok(),
            },
            None => None,
        };
        let begun = Instant::now();
        let mut backoff = Backoff::quick();
        // What may have been granted is found out even while the scheduler stops.
        let mut over = &self.stopping;
        let (answer, granted) = loop {
            if over.is_cancelled() {
                return tell(reply, Err(RunNowError::ShutDown));
            }
            let Ok(permit) = self.asks.acquire().await else {
                return;
            };
            let (sent, sent_wall) = (Instant::now(), self.clock.now());
            running.overlap = self.live.has_overdue(&job.id);
            let result = self.begin(&request, &running, sent).await;
            drop(permit);
            match result {
                Ok((answer, _)) => {
                    break (answer, Granted { sent, sent_wall, worth: true, place });
                }
                Err(error) => {
                    self.failed(Some(&job.id), &error);
                    if !error.is_retryable() || begun.elapsed() >= job.ttl {
                        return tell(reply, Err(error.into()));
                    }
                    over = &self.closing;
                }
            }
            select! {
                biased;
                () = over.cancelled() => {}
                () = sleep(backoff.next(&self)) => {}
            }
        };
        match answer.acquisition {
            Acquisition::Granted(grant) => {
                self.tell(&job, None, &grant.untold, &grant.abandoned);
                self.close_abandoned(&job, &grant.abandoned, answer.unclosed);
                tell(reply, Ok(run_id));
                self.granted(job, grant.lease, running, granted).await;
            }
            Acquisition::Held(by) => {
                let error = RunNowError::Held { run_id: by.run_id, node: by.node };
                tell(reply, Err(error));
            }
            _ => tell(reply, Err(RunNowError::Malformed)),
        }
    }
}

/// Tells who asked, if they still listen: the run goes on without them.
fn tell(reply: oneshot::Sender<Result<RunId, RunNowError>>, result: Result<RunId, RunNowError>) {
    let _ = reply.send(result);
}
