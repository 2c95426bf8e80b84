//! Listening to what a node tells of its runs.

use tidelock::{EventKind, EventStream};
use tokio::task::JoinHandle;

use super::event::{Ask, Life, What};
use super::log::Log;

/// Notes the runs of a node as they start and end.
#[expect(clippy::disallowed_methods, reason = "who listens is no part of a node")]
pub(crate) fn listen(life: Life, mut events: EventStream, log: Log) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            let Some(job) = event.job.map(|job| log.job(&job)) else { continue };
            match event.kind {
                EventKind::RunStarted { run_id: run, occurrence: tick } => {
                    log.note(What::Started(Ask { life, job, run, tick, edited: false }));
                }
                EventKind::RunEnded { run_id: run, state } => {
                    log.note(What::Finished { life, job, run, state });
                }
                _ => {}
            }
        }
    })
}
