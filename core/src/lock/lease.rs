//! What a holder has in hand, and the answers to renewing and giving it up.

use super::{FencingToken, LockKey};
use crate::{Holder, RunId};

/// What the holder of a lock has in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// What is locked.
    pub key: LockKey,
    /// By which acquisition.
    pub holder: Holder,
    /// For which run.
    pub run_id: RunId,
    /// The grant's number.
    pub token: FencingToken,
}

impl Lease {
    /// The lease of one grant.
    pub fn new(key: LockKey, holder: Holder, run_id: RunId, token: FencingToken) -> Self {
        Self { key, holder, run_id, token }
    }
}

/// The answer to a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Renewal {
    /// The lock is this holder's, and its life starts anew.
    Renewed,
    /// The lock is not this holder's any more.
    Lost,
}

/// The answer to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The lock was there and is gone.
    Released,
    /// The lock was not this holder's (or, forced, not held at all).
    NotHeld,
}

/// How much an operator clears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clear {
    /// The lock alone: ticks up to the mark stay taken.
    Lock,
    /// Lock and mark: ticks that have run may run again. The token stays.
    LockAndMark,
}
