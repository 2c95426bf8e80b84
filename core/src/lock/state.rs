//! What a backend knows of a key.

use super::{FencingToken, HeldBy, Mark, Untold};
use crate::{NodeId, Occurrence, RunId};

/// A run granted and not yet released.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenRun {
    /// The run.
    pub run_id: RunId,
    /// The node it was granted to.
    pub node: NodeId,
    /// Its tick; `None` for a manual run.
    pub occurrence: Option<Occurrence>,
    /// The token of its grant.
    pub token: FencingToken,
    /// What its grant named: ticks before it that did not run.
    pub untold: Untold,
}

impl OpenRun {
    /// An open run with nothing to tell.
    pub fn new(
        run_id: RunId,
        node: NodeId,
        occurrence: Option<Occurrence>,
        token: FencingToken,
    ) -> Self {
        Self { run_id, node, occurrence, token, untold: Untold::default() }
    }
}

/// What a backend knows of a key, all read in one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockState {
    /// The mark, if a tick was ever taken.
    pub mark: Option<Mark>,
    /// The newest token, if there was ever a grant.
    pub token: Option<FencingToken>,
    /// The lock's holder, if it is held.
    pub held: Option<HeldBy>,
    /// The open runs, oldest grant first.
    pub open_runs: Vec<OpenRun>,
}

impl LockState {
    /// A state.
    pub fn new(
        mark: Option<Mark>,
        token: Option<FencingToken>,
        held: Option<HeldBy>,
        open_runs: Vec<OpenRun>,
    ) -> Self {
        Self { mark, token, held, open_runs }
    }
}
