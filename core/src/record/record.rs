//! What is stored about a run, or about ticks that did not run.

use jiff::Timestamp;

use super::RunState;
use super::text::cut;
use crate::{FencingToken, JobId, NodeId, Occurrence, OpenRun, RunId};

/// Ticks that did not run, all for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TickSpan {
    /// The oldest.
    pub first: Occurrence,
    /// The newest.
    pub last: Occurrence,
    /// How many.
    pub count: u64,
    /// Whether there may be more than `count`: nobody walks through a million of missed ticks.
    pub at_least: bool,
}

impl TickSpan {
    /// One tick.
    pub fn one(tick: Occurrence) -> Self {
        Self::new(tick, tick, 1, false)
    }

    /// The ticks from `first` to `last`.
    pub fn new(first: Occurrence, last: Occurrence, count: u64, at_least: bool) -> Self {
        Self { first, last, count, at_least }
    }
}

/// What is stored about a run, or about ticks that did not run and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The run (a tick that did not run has an id of its own).
    pub run_id: RunId,
    /// The job.
    pub job: JobId,
    /// The node that ran it, or that moved the mark past the tick.
    pub node: NodeId,
    /// Which tick; `None`: a manual run, or several ticks that did not run.
    pub occurrence: Option<Occurrence>,
    /// The token of its grant; `None` for ticks that did not run.
    pub token: Option<FencingToken>,
    /// What became of it.
    pub state: RunState,
    /// How many times the handler was called.
    pub attempt: u32,
    /// When it was asked for, by the node's clock.
    pub started: Timestamp,
    /// When it ended, by the node's clock.
    pub ended: Option<Timestamp>,
    /// Whether code of the handler went on when this was written: it did not yield, or runs on a
    /// thread, and cannot be stopped.
    pub still_running: bool,
    /// Whether code of an earlier run of the job that could not be stopped went on at this node.
    pub overlap: bool,
    /// The run that was in the way of the (last) tick that did not run.
    pub blocked_by: Option<RunId>,
    /// The ticks that did not run.
    pub ticks: Option<TickSpan>,
    error: Option<String>,
    note: Option<String>,
}

impl Record {
    /// The longest error text, in bytes; a longer one is cut, with a mark.
    pub const MAX_ERROR_BYTES: usize = 16 * 1024;
    /// The longest note, in bytes; a longer one is cut, with a mark.
    pub const MAX_NOTE_BYTES: usize = 4 * 1024;

    /// A record with nothing but what every one has.
    pub fn new(
        run_id: RunId,
        job: JobId,
        node: NodeId,
        state: RunState,
        started: Timestamp,
    ) -> Self {
        Self {
            run_id,
            job,
            node,
            occurrence: None,
            token: None,
            state,
            attempt: 1,
            started,
            ended: None,
            still_running: false,
            overlap: false,
            blocked_by: None,
            ticks: None,
            error: None,
            note: None,
        }
    }

    /// The end of a run whose node has died or fell silent.
    pub fn abandoned(job: JobId, run: &OpenRun, at: Timestamp) -> Self {
        let mut record = Self::new(run.run_id, job, run.node.clone(), RunState::Abandoned, at);
        record.occurrence = run.occurrence;
        record.token = Some(run.token);
        record.ended = Some(at);
        record
    }

    /// The error's text, at most [`Self::MAX_ERROR_BYTES`].
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The same with that error text, cut if need be.
    #[must_use]
    pub fn with_error(mut self, text: impl Into<String>) -> Self {
        self.error = Some(cut(text.into(), Self::MAX_ERROR_BYTES));
        self
    }

    /// What the handler left with `note`, at most [`Self::MAX_NOTE_BYTES`].
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The same with that note, cut if need be.
    #[must_use]
    pub fn with_note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(cut(text.into(), Self::MAX_NOTE_BYTES));
        self
    }

    /// Whether a stored record gives way to `new` of the same run: see [`RunState::yields_to`].
    ///
    /// Of two about the same ticks that did not run the one that tells of more stays, so that a
    /// late or repeated save takes nothing away.
    pub fn yields_to(&self, new: &Self) -> bool {
        let count = |record: &Self| record.ticks.map_or(0, |ticks| ticks.count);
        self.state.yields_to(new.state)
            && (!self.state.is_tick_not_run() || count(new) > count(self))
    }

    /// What a store keeps when `new` replaces this one.
    ///
    /// `Abandoned` knows less than the record it closes: what that one had stays.
    #[must_use]
    pub fn replaced_by(&self, new: &Self) -> Self {
        let mut kept = new.clone();
        if new.state == RunState::Abandoned {
            kept = self.clone();
            kept.state = new.state;
            kept.ended = new.ended;
            kept.token = self.token.or(new.token);
        }
        kept
    }
}
