//! Calling a job's handler, here or on a thread.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Run;
use super::life::Verdict;
use crate::RunContext;
use crate::engine::shield::shield;
use crate::job::{Answering, Handler};

/// The answer of blocking code that was not called: when it had its thread, for which it may have
/// waited long, its lease was not known to be alive.
#[derive(Debug, thiserror::Error)]
#[error("not begun: the lease was in doubt")]
pub(super) struct NotBegun;

impl Run {
    /// Calls the job's handler.
    pub(super) fn call(self: &Arc<Self>, context: RunContext) -> Answering {
        let handler = match &self.job.handler {
            Handler::Async(handler) => return handler(context),
            Handler::Blocking(handler) => handler.clone(),
        };
        let (sender, receiver) = oneshot::channel();
        let run = self.clone();
        self.core.spawner.spawn_blocking(Box::new(move || {
            let result = match run.verdict() {
                Verdict::Alive => shield(move || handler(context)),
                _ => Ok(Err(NotBegun.into())),
            };
            // The run's task waits for it, unless its node has died.
            let _ = sender.send(result);
        }));
        Box::pin(async move {
            match receiver.await {
                Ok(Ok(result)) => result,
                // The hook has been told of it on its thread.
                Ok(Err(message)) => std::panic::resume_unwind(Box::new(message)),
                Err(_) => Err("the thread ended without an answer".into()),
            }
        })
    }
}
