//! The answers to a request for a tick.

use std::time::Duration;

use super::{Lease, Mark, MarkPoint, OpenRun, Untold};
use crate::{Holder, NodeId, RunId, SkipReason};

/// The answer to an [`AcquireRequest`](super::AcquireRequest).
///
/// Every one of them is a value: `Err` would mean "could not find out".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub enum Acquisition {
    /// The lock is this holder's, and the tick its to run.
    Granted(Grant),
    /// The mark moved to the occurrence without a run, by this request: this node reports it.
    Consumed(Consumed),
    /// The occurrence is not newer than the mark: it was run or consumed, or passed over.
    AlreadyTaken(Taken),
    /// The occurrence is further ahead of the backend's clock than the request allows.
    TooEarly {
        /// How long the backend would still refuse it.
        by: Duration,
    },
    /// Another run holds the lock; nothing has changed.
    Held(HeldBy),
    /// This very acquisition was granted the occurrence before, and its lock has gone since.
    Expired(Lease),
}

/// A grant: what its holder needs to run, and what it has to report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// What the holder has in hand.
    pub lease: Lease,
    /// The mark as it was: ticks between it and the occurrence were taken by nobody.
    pub previous: Option<MarkPoint>,
    /// What others may not have told, up to the occurrence.
    pub untold: Untold,
    /// Every other open run of the key: their nodes have died or lost their locks.
    pub abandoned: Vec<OpenRun>,
}

impl Grant {
    /// A grant.
    pub fn new(
        lease: Lease,
        previous: Option<MarkPoint>,
        untold: Untold,
        abandoned: Vec<OpenRun>,
    ) -> Self {
        Self { lease, previous, untold, abandoned }
    }
}

/// An occurrence that this request consumed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consumed {
    /// Why it does not run.
    pub reason: SkipReason,
    /// The run that was in the way, if one was.
    pub blocked_by: Option<RunId>,
    /// The mark as it was: ticks between it and the occurrence were taken by nobody.
    pub previous: Option<MarkPoint>,
    /// What others may not have told, and this tick.
    pub untold: Untold,
}

impl Consumed {
    /// A consumed occurrence.
    pub fn new(
        reason: SkipReason,
        blocked_by: Option<RunId>,
        previous: Option<MarkPoint>,
        untold: Untold,
    ) -> Self {
        Self { reason, blocked_by, previous, untold }
    }
}

/// Who took an occurrence, as far as the mark knows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taken {
    /// The mark: at the occurrence asked for, or past it.
    pub mark: Mark,
    /// Whether the run that moved the mark still holds the lock.
    pub running: bool,
}

impl Taken {
    /// Taken, as this mark shows.
    pub fn new(mark: Mark, running: bool) -> Self {
        Self { mark, running }
    }
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldBy {
    /// The acquisition.
    pub holder: Holder,
    /// Its run.
    pub run_id: RunId,
    /// Its node.
    pub node: NodeId,
    /// How long it lives without renewal.
    pub expires_in: Duration,
}

impl HeldBy {
    /// Held by that acquisition.
    pub fn new(holder: Holder, run_id: RunId, node: NodeId, expires_in: Duration) -> Self {
        Self { holder, run_id, node, expires_in }
    }
}
