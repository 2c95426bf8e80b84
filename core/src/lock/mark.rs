//! The mark: what makes a tick unrepeatable.

use jiff::{SignedDuration, Timestamp};

use super::{FencingToken, Untold};
use crate::{Fingerprint, Holder, NodeId, Occurrence, RunId, SkipReason};

/// How the mark came to an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moved {
    /// The occurrence was granted, under this token.
    Granted(FencingToken),
    /// The occurrence was consumed without a run.
    Consumed {
        /// Why it did not run.
        reason: SkipReason,
        /// The run that was in the way, if one was.
        blocked_by: Option<RunId>,
    },
}

/// An occurrence and the fingerprint of the schedule it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkPoint {
    /// The instant.
    pub occurrence: Occurrence,
    /// The schedule's fingerprint.
    pub fingerprint: Fingerprint,
}

impl MarkPoint {
    /// That occurrence of that schedule.
    pub fn new(occurrence: Occurrence, fingerprint: Fingerprint) -> Self {
        Self { occurrence, fingerprint }
    }
}

/// Per job: the newest occurrence that was granted or deliberately consumed.
///
/// It is checked and moved in the same atomic step that takes the lock. It never expires, and
/// nothing but an operator lowers or removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// Where the mark stands.
    pub point: MarkPoint,
    /// The acquisition that moved it there.
    pub holder: Holder,
    /// That acquisition's run.
    pub run_id: RunId,
    /// The node that asked.
    pub node: NodeId,
    /// How.
    pub moved: Moved,
    /// The mark as it was before.
    pub previous: Option<MarkPoint>,
    /// When, by the backend's clock (`None`: it has none).
    pub at: Option<Timestamp>,
    /// Ticks consumed since the newest grant, up to this one, and passed over since then.
    pub untold: Untold,
    /// How far the mover's clock stood ahead of the backend's, as far as it knew.
    pub skew: Option<SignedDuration>,
}

impl Mark {
    /// The mark that `request` moves to `point` in the way given.
    pub fn new(
        request: &super::AcquireRequest,
        point: MarkPoint,
        moved: Moved,
        previous: Option<MarkPoint>,
        at: Option<Timestamp>,
    ) -> Self {
        Self {
            point,
            holder: request.holder.clone(),
            run_id: request.run_id,
            node: request.node.clone(),
            moved,
            previous,
            at,
            untold: Untold::default(),
            skew: request.skew,
        }
    }
}
