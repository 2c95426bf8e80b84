//! What goes wrong, and what operators do.

use std::fmt;

/// A disturbance and its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Planned {
    /// When it begins, in milliseconds since the start.
    pub at: u64,
    /// What.
    pub what: Disturbance,
}

/// Something that goes wrong, or that an operator does. Nodes are counted from 0, and so are jobs.
///
/// What is wrong with the way of a node is so for whoever is started in its place, until the last
/// disturbance of that kind is over; a place stays empty for as long as one of them says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disturbance {
    /// A node is cut off from the backend.
    Cut {
        /// Which.
        node: usize,
        /// For how long.
        for_ms: u64,
        /// Whether nothing answers, rather than that calls fail at once.
        silent: bool,
    },
    /// All nodes are cut off: the backend is away.
    Outage {
        /// For how long.
        for_ms: u64,
        /// Whether nothing answers.
        silent: bool,
    },
    /// The answers to a node come late.
    Slow {
        /// Which.
        node: usize,
        /// How late.
        by_ms: u64,
        /// For how long.
        for_ms: u64,
    },
    /// The next replies to a node are lost with their connections: with real servers alone.
    LostReplies {
        /// Which.
        node: usize,
        /// How many.
        count: usize,
    },
    /// A server stands still (SIGSTOP), or dies (SIGKILL) and is started again: with real servers
    /// alone.
    Server {
        /// Which of them.
        member: usize,
        /// For how long.
        for_ms: u64,
        /// Whether it dies.
        dies: bool,
    },
    /// The store takes no records of this node's, while its locks work.
    RecordsAway {
        /// Which.
        node: usize,
        /// For how long.
        for_ms: u64,
        /// Whether nothing answers, rather than that they are refused.
        silent: bool,
    },
    /// A process stands still, as with SIGSTOP or on a suspended machine, and goes on.
    Freeze {
        /// Which.
        node: usize,
        /// For how long.
        for_ms: u64,
    },
    /// A node dies, as with SIGKILL.
    Kill {
        /// Which.
        node: usize,
        /// After how long it is started again.
        away_ms: u64,
    },
    /// A node is shut down as a deployment does it.
    Stop {
        /// Which.
        node: usize,
        /// How long its runs may go on.
        deadline_ms: u64,
        /// After how long its successor starts, whether or not it has ended.
        away_ms: u64,
    },
    /// A scheduler is dropped without a shutdown; its process goes on for a while.
    Drop {
        /// Which.
        node: usize,
        /// After how long the process is gone and its successor starts.
        away_ms: u64,
    },
    /// A node's clock is set.
    Step {
        /// Which.
        node: usize,
        /// Forward by how much (back, if negative).
        by_ms: i64,
    },
    /// An operator runs a job now.
    RunNow {
        /// On which node.
        node: usize,
        /// Which job.
        job: usize,
    },
    /// A job is taken out on a node, and put back.
    Remove {
        /// On which node.
        node: usize,
        /// Which job.
        job: usize,
        /// After how long it is put back.
        for_ms: u64,
    },
    /// An operator frees a job's lock, whoever holds it.
    Force {
        /// Of which job.
        job: usize,
        /// Whether the mark goes with it, so that ticks may run again.
        mark: bool,
    },
    /// A job gets its other schedule on one node, for good.
    Edit {
        /// On which node.
        node: usize,
        /// Which job.
        job: usize,
    },
    /// A job is replaced by itself.
    Replace {
        /// On which node.
        node: usize,
        /// Which job.
        job: usize,
    },
}

impl Disturbance {
    /// Whose it is; `None`: all nodes', or none's.
    pub fn node(&self) -> Option<usize> {
        match *self {
            Self::Outage { .. } | Self::Server { .. } | Self::Force { .. } => None,
            Self::Cut { node, .. }
            | Self::Slow { node, .. }
            | Self::LostReplies { node, .. }
            | Self::RecordsAway { node, .. }
            | Self::Freeze { node, .. }
            | Self::Kill { node, .. }
            | Self::Stop { node, .. }
            | Self::Drop { node, .. }
            | Self::Step { node, .. }
            | Self::RunNow { node, .. }
            | Self::Remove { node, .. }
            | Self::Edit { node, .. }
            | Self::Replace { node, .. } => Some(node),
        }
    }

    /// Which job it is about, if about one.
    pub fn job(&self) -> Option<usize> {
        match *self {
            Self::RunNow { job, .. }
            | Self::Remove { job, .. }
            | Self::Force { job, .. }
            | Self::Edit { job, .. }
            | Self::Replace { job, .. } => Some(job),
            _ => None,
        }
    }

    /// How long it lasts, to be made shorter.
    pub(crate) fn duration_mut(&mut self) -> Option<&mut u64> {
        match self {
            Self::Cut { for_ms, .. }
            | Self::Outage { for_ms, .. }
            | Self::Server { for_ms, .. }
            | Self::Slow { for_ms, .. }
            | Self::RecordsAway { for_ms, .. }
            | Self::Freeze { for_ms, .. }
            | Self::Remove { for_ms, .. } => Some(for_ms),
            Self::Kill { away_ms, .. }
            | Self::Stop { away_ms, .. }
            | Self::Drop { away_ms, .. } => Some(away_ms),
            _ => None,
        }
    }

    /// The same with other numbers for nodes and jobs; `None` for one that is no more.
    pub(crate) fn renumbered(
        mut self,
        to: impl Fn(usize) -> Option<usize>,
        job_to: impl Fn(usize) -> Option<usize>,
    ) -> Option<Self> {
        match &mut self {
            Self::Outage { .. } | Self::Server { .. } => {}
            Self::Cut { node, .. }
            | Self::Slow { node, .. }
            | Self::LostReplies { node, .. }
            | Self::RecordsAway { node, .. }
            | Self::Freeze { node, .. }
            | Self::Kill { node, .. }
            | Self::Stop { node, .. }
            | Self::Drop { node, .. }
            | Self::Step { node, .. } => *node = to(*node)?,
            Self::Force { job, .. } => *job = job_to(*job)?,
            Self::RunNow { node, job }
            | Self::Edit { node, job }
            | Self::Remove { node, job, .. }
            | Self::Replace { node, job } => {
                *node = to(*node)?;
                *job = job_to(*job)?;
            }
        }
        Some(self)
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}.{:03} s: {:?}", self.at / 1_000, self.at % 1_000, self.what)
    }
}
