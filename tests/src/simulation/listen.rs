//! Listening to what a node tells of its runs.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use tidelock::{EventKind, EventStream, Spawner, Task};

use super::event::{Ask, Life, What};
use super::log::Log;
use crate::NodeSpawner;

/// Spawns for a node, and notes its runs as they start and end: after each turn of each of its tasks,
/// so that no more is told than can be waiting, and all nodes' runs are in the order in which they
/// were. One that listened in a task of its own would have its turn too late for a crowd.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    process: NodeSpawner,
    ear: Arc<Ear>,
}

#[derive(Debug)]
struct Ear {
    life: Life,
    log: Log,
    /// `None` until the node has started.
    events: Mutex<Option<EventStream>>,
}

impl Listener {
    pub(crate) fn new(process: &NodeSpawner, life: Life, log: &Log) -> Self {
        let ear = Ear { life, log: log.clone(), events: Mutex::default() };
        Self { process: process.clone(), ear: Arc::new(ear) }
    }

    /// Listens from now on.
    pub(crate) fn listen(&self, events: EventStream) {
        *self.ear.events.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
    }
}

impl Spawner for Listener {
    fn spawn(&self, mut task: Task) {
        let ear = Arc::clone(&self.ear);
        self.process.spawn(Box::pin(poll_fn(move |context| {
            let polled = task.as_mut().poll(context);
            ear.note();
            polled
        })));
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        self.process.spawn_blocking(work);
    }
}

impl Ear {
    /// Notes what was told since the last time.
    fn note(&self) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(event) = events.as_mut().and_then(EventStream::try_next) {
            let (life, job) = (self.life, event.job.map(|job| self.log.job(&job)));
            match (event.kind, job) {
                (EventKind::Lagged { lost }, _) => self.log.note(What::Unheard(life, lost)),
                (EventKind::RunStarted { run_id: run, occurrence: tick }, Some(job)) => {
                    self.log.note(What::Started(Ask { life, job, run, tick, edited: false }));
                }
                (EventKind::RunEnded { run_id: run, state }, Some(job)) => {
                    self.log.note(What::Finished { life, job, run, state });
                }
                _ => {}
            }
        }
    }
}
