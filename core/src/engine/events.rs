//! What happens in a scheduler, as it happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::broadcast;

use super::Skew;
use crate::{BackendError, ErrorKind, JobId, NodeId, Occurrence, RunId, RunState, TickSpan};

/// How many events a listener may be behind before it loses the oldest.
const CAPACITY: usize = 1_024;

/// One thing that happened on one node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// When, by the node's clock.
    pub at: Timestamp,
    /// Where.
    pub node: NodeId,
    /// Which job it is about, if about one.
    pub job: Option<JobId>,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A run was granted to this node and starts.
    RunStarted {
        /// Which run.
        run_id: RunId,
        /// Its tick; `None` for a manual run.
        occurrence: Option<Occurrence>,
    },
    /// A run ended.
    RunEnded {
        /// Which run.
        run_id: RunId,
        /// How.
        state: RunState,
    },
    /// A handler was told to stop and goes on: it does not yield, or runs on a thread.
    RunOverdue {
        /// Which run.
        run_id: RunId,
    },
    /// Ticks did not run; this node moved the mark past them and records it.
    TicksNotRun {
        /// Why: `Skipped` or `Missed`.
        state: RunState,
        /// Which.
        ticks: TickSpan,
    },
    /// The backend could not be asked about a tick while it was worth asking. Whoever moves the
    /// mark past it records it; where it was too late and the next tick is not due yet, this node
    /// goes on to ask for it to be skipped.
    TickGivenUp {
        /// Which tick.
        occurrence: Occurrence,
    },
    /// Runs of nodes that have died or fell silent were found and closed.
    RunsAbandoned {
        /// How many.
        count: usize,
    },
    /// A call to the backend failed.
    BackendFailed {
        /// Which operation.
        operation: &'static str,
        /// What kind of failure.
        kind: ErrorKind,
        /// The whole text, with its causes.
        message: String,
    },
    /// The node's clock was set, or the machine slept.
    ClockStepped {
        /// How far forward (back, if negative).
        by: SignedDuration,
    },
    /// The node's clock and the backend's differ by more than `max_ahead`, or do so no more. (Where
    /// the backend tells no clock: this node's is ahead by at least so much.)
    ClockSkew(Skew),
    /// Another node sees about the same large skew as this one: it is the backend's clock that is
    /// off.
    BackendClock(Skew),
    /// A job's mark lies further ahead of this node's clock than `max_ahead`.
    MarkAhead {
        /// By how much.
        by: Duration,
    },
    /// The job's schedule panicked or went back in time: the job is not planned any more until it
    /// is replaced.
    ScheduleFaulted {
        /// What was wrong.
        message: String,
    },
    /// Records that waited for the store were dropped, the oldest first.
    RecordsDropped {
        /// How many.
        count: usize,
    },
    /// This listener was too slow and has lost events.
    Lagged {
        /// How many.
        lost: u64,
    },
}

/// The way out for events.
#[derive(Debug)]
pub(crate) struct Events {
    node: NodeId,
    /// `None` once all is over.
    sender: Mutex<Option<broadcast::Sender<Event>>>,
    /// Whether anybody ever listened: where nobody does, an event costs no lock.
    listened: AtomicBool,
}

impl Events {
    pub(crate) fn new(node: NodeId) -> Self {
        let sender = Mutex::new(Some(broadcast::Sender::new(CAPACITY)));
        Self { node, sender, listened: AtomicBool::new(false) }
    }

    /// Whether anybody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.listened.load(Ordering::Acquire)
            && self.sender().as_ref().is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Sends an event, if anybody listens. Never waits.
    pub(crate) fn send(&self, at: Timestamp, job: Option<&JobId>, kind: EventKind) {
        let sender = self.sender();
        if let Some(sender) = sender.as_ref().filter(|sender| sender.receiver_count() > 0) {
            let event = Event { at, node: self.node.clone(), job: job.cloned(), kind };
            // Nobody listens any more: nothing to do.
            let _ = sender.send(event);
        }
    }

    fn sender(&self) -> MutexGuard<'_, Option<broadcast::Sender<Event>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all streams: nothing will happen any more.
    pub(crate) fn close(&self) {
        *self.sender() = None;
    }

    pub(crate) fn listen(&self) -> EventStream {
        let receiver = match &*self.sender() {
            Some(sender) => sender.subscribe(),
            // Without a sender the stream is at its end.
            None => broadcast::Sender::new(1).subscribe(),
        };
        self.listened.store(true, Ordering::Release);
        EventStream { node: self.node.clone(), receiver }
    }
}

/// Events from the moment it was made on.
#[derive(Debug)]
pub struct EventStream {
    node: NodeId,
    receiver: broadcast::Receiver<Event>,
}

impl EventStream {
    /// The next event; `None` once the scheduler has stopped and the last of its runs has ended.
    ///
    /// A listener that is more than 1,024 events behind loses the oldest and is told how many
    /// ([`EventKind::Lagged`]); it never holds the scheduler up.
    ///
    /// # Cancel safety
    ///
    /// No event is lost when the call is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(lost)) => Some(self.lagged(lost)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event if there is one now.
    pub fn try_next(&mut self) -> Option<Event> {
        match self.receiver.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Lagged(lost)) => Some(self.lagged(lost)),
            Err(_) => None,
        }
    }

    fn lagged(&self, lost: u64) -> Event {
        let kind = EventKind::Lagged { lost };
        Event { at: Timestamp::UNIX_EPOCH, node: self.node.clone(), job: None, kind }
    }
}

/// An error and its causes, in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        // Many errors say their cause themselves.
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}

impl From<&BackendError> for EventKind {
    fn from(error: &BackendError) -> Self {
        Self::BackendFailed { operation: error.operation, kind: error.kind, message: chain(error) }
    }
}
