//! One line of the log of a simulated run.

use tidelock::{CancelReason, Occurrence, RunId, RunState, SkipReason};

/// A node from its start to its end, counted over the whole fleet.
pub type Life = usize;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// When, in microseconds of true time since the start.
    pub at: u64,
    /// What.
    pub what: What,
}

/// What happened. Jobs are counted as the plan lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A node is up.
    Up(Life),
    /// A node's process is gone.
    Killed(Life),
    /// A node is told to shut down.
    Stopping(Life),
    /// A node's scheduler was dropped.
    Dropped(Life),
    /// A node has shut down.
    Stopped {
        /// Which.
        life: Life,
        /// How many runs had to be told to stop.
        cancelled: usize,
        /// How many runs go on.
        still_running: usize,
        /// How many records were not stored.
        unsaved: usize,
    },
    /// Tasks of a node that were there when its shutdown was over.
    TasksLeft(Life, usize),
    /// A node stands still.
    Frozen(Life),
    /// A node goes on.
    Thawed(Life),
    /// A node is cut off.
    Cut(Life),
    /// A node reaches the backend again.
    Healed(Life),
    /// The store takes no records of a node.
    RecordsAway(Life),
    /// The answers to a node come late.
    Slow(Life),
    /// So many of the next replies to a node are lost.
    LostReplies(Life, usize),
    /// A server stands still, or is killed.
    ServerAway(usize, bool),
    /// A server goes on, or answers again.
    ServerBack(usize),
    /// Nothing at all went on for so many microseconds up to now: the machine was busy.
    Stalled(u64),
    /// The answers come, and records are taken, as ever.
    AsEver(Life),
    /// A clock is set, in milliseconds.
    Stepped(usize, i64),
    /// All is healed.
    Calm,
    /// A job is registered on a running node.
    Added(Life, usize),
    /// A job is taken out.
    Removed(Life, usize),
    /// A job is replaced.
    Replaced(Life, usize),
    /// A job has its other schedule on a node from now on.
    Edited(Life, usize),
    /// An operator has freed a job's lock, if it was held.
    Forced {
        /// Of which job.
        job: usize,
        /// Whether the mark went, too.
        mark: bool,
        /// Whether it was held.
        held: bool,
    },
    /// An operator asks for a run.
    RunNow(Life, usize),
    /// A node asks for a tick.
    Asked(Ask),
    /// A node has its answer.
    Heard(Ask, Answered),
    /// The backend has granted a run.
    Granted {
        /// To whom, and for what.
        ask: Ask,
        /// The token.
        token: u64,
        /// Where the mark was.
        previous: Option<Occurrence>,
    },
    /// The backend has moved the mark past a tick that is not to run.
    Consumed {
        /// By whom, and which.
        ask: Ask,
        /// Why.
        reason: SkipReason,
        /// The run in the way.
        blocked_by: Option<RunId>,
        /// Where the mark was.
        previous: Option<Occurrence>,
    },
    /// The backend has freed a lock for its holder.
    Released {
        /// Whose node it was.
        life: Life,
        /// Of which job.
        job: usize,
        /// For which run.
        run: RunId,
        /// Under which token.
        token: u64,
    },
    /// The backend has stored a record of ticks that did not run.
    Saved {
        /// Whose node it was.
        life: Life,
        /// Of which job.
        job: usize,
        /// In which state.
        state: RunState,
        /// How many ticks it tells of.
        count: u64,
    },
    /// A node tells that a run starts: what is known of handlers that note nothing themselves.
    Started(Ask),
    /// So much of what a node told of its runs was not heard.
    Unheard(Life, u64),
    /// A node tells that a run has ended.
    Finished {
        /// Which node.
        life: Life,
        /// Of which job.
        job: usize,
        /// Which run.
        run: RunId,
        /// How.
        state: RunState,
    },
    /// A handler was called.
    Began(Handler),
    /// A handler is at work; whether a sink that checks tokens took what it wrote.
    Worked(Handler, bool),
    /// A handler was told to stop.
    Told(Handler, CancelReason),
    /// A handler has ended.
    Ended(Handler, End),
}

/// A request for a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ask {
    /// Who asks.
    pub life: Life,
    /// Which job.
    pub job: usize,
    /// The run that would begin.
    pub run: RunId,
    /// Which tick; `None` is a manual run.
    pub tick: Option<Occurrence>,
    /// Whether the job has its other schedule where it is asked for.
    pub edited: bool,
}

/// What a node heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answered {
    /// The run is granted.
    Granted,
    /// The tick is consumed.
    Consumed,
    /// It was taken before.
    Taken,
    /// It is too early.
    TooEarly,
    /// The lock is held.
    Held,
    /// It was granted before and its lock has gone.
    Expired,
    /// It is not known.
    Failed,
}

/// A call of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handler {
    /// On which node.
    pub life: Life,
    /// Of which job.
    pub job: usize,
    /// In which run.
    pub run: RunId,
    /// Under which token.
    pub token: u64,
    /// For which tick.
    pub tick: Option<Occurrence>,
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// It returned `Ok`.
    Ok,
    /// It returned an error.
    Error,
    /// It panicked.
    Panic,
    /// It was dropped unfinished.
    Dropped,
}
