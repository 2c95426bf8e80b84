//! One line of the log of a simulated run.

use std::fmt;

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
    /// The store takes a node's records again.
    RecordsBack(Life),
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

impl Event {
    /// The line, with names for the numbers.
    pub(crate) fn line(&self, lives: &[String], jobs: &[String]) -> String {
        let name = |life: &Life| lives.get(*life).map_or("?", String::as_str);
        let id = |job: &usize| jobs.get(*job).map_or("?", String::as_str);
        let tick = |tick: &Option<Occurrence>| match tick {
            Some(tick) => tick.at().strftime("%T%.f").to_string(),
            None => "none".to_owned(),
        };
        let ask = |a: &Ask| {
            format!("{} {} tick {} run {}", name(&a.life), id(&a.job), tick(&a.tick), Short(a.run))
        };
        let handler = |h: &Handler| {
            let (life, job) = (name(&h.life), id(&h.job));
            format!("{life} {job} tick {} run {} token {}", tick(&h.tick), Short(h.run), h.token)
        };
        let text = match &self.what {
            What::Up(life) => format!("{} is up", name(life)),
            What::Killed(life) => format!("{} is gone", name(life)),
            What::Stopping(life) => format!("{} is told to shut down", name(life)),
            What::Dropped(life) => format!("{}: its scheduler is dropped", name(life)),
            What::Stopped { life, cancelled, still_running, unsaved } => format!(
                "{} has shut down: {cancelled} cancelled, {still_running} still running, {unsaved} unsaved",
                name(life)
            ),
            What::TasksLeft(life, count) => format!("{} has left {count} tasks", name(life)),
            What::Frozen(life) => format!("{} stands still", name(life)),
            What::Thawed(life) => format!("{} goes on", name(life)),
            What::Cut(life) => format!("{} is cut off", name(life)),
            What::Healed(life) => format!("{} reaches the backend", name(life)),
            What::RecordsAway(life) => format!("{}: no records are taken", name(life)),
            What::RecordsBack(life) => format!("{}: records are taken again", name(life)),
            What::Stepped(seat, by) => format!("the clock of n{seat} is set by {by} ms"),
            What::Calm => "all is healed".to_owned(),
            What::Added(life, job) => format!("{} {} added", name(life), id(job)),
            What::Removed(life, job) => format!("{} {} removed", name(life), id(job)),
            What::Replaced(life, job) => format!("{} {} replaced", name(life), id(job)),
            What::RunNow(life, job) => format!("{} {} is to run now", name(life), id(job)),
            What::Asked(a) => format!("{} asked", ask(a)),
            What::Heard(a, answer) => format!("{} hears {answer:?}", ask(a)),
            What::Granted { ask: a, token, previous } => {
                format!("    GRANTED {} token {token}, mark was {}", ask(a), tick(previous))
            }
            What::Consumed { ask: a, reason, blocked_by, previous } => {
                let by = blocked_by.map_or(String::new(), |run| format!(" behind {}", Short(run)));
                format!("    CONSUMED {} {reason:?}{by}, mark was {}", ask(a), tick(previous))
            }
            What::Released { life, job, run, token } => {
                format!("    RELEASED {} {} run {} token {token}", name(life), id(job), Short(*run))
            }
            What::Saved { life, job, state, count } => {
                format!("    SAVED {} {} {state} of {count} ticks", name(life), id(job))
            }
            What::Started(a) => format!("  > {} starts", ask(a)),
            What::Finished { life, job, run, state } => {
                format!("  > {} {} run {} ended: {state}", name(life), id(job), Short(*run))
            }
            What::Began(h) => format!("  > {} begins", handler(h)),
            What::Worked(h, taken) => {
                format!("  > {} works{}", handler(h), if *taken { "" } else { ", refused" })
            }
            What::Told(h, reason) => format!("  > {} is told: {reason}", handler(h)),
            What::Ended(h, end) => format!("  > {} ends: {end:?}", handler(h)),
        };
        format!("{:>4}.{:06} {text}", self.at / 1_000_000, self.at % 1_000_000)
    }
}

/// The first digits of a run id: enough to tell runs of one log apart.
#[derive(Clone, Copy)]
pub(crate) struct Short(pub(crate) RunId);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0.get() >> 96)
    }
}
