//! A promise that was not kept.

use std::fmt;

/// A line of the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Promise {
    /// Of one occurrence at most one start.
    OncePerTick,
    /// Two granted runs of a job never overlap.
    NoOverlap,
    /// Fencing tokens grow in the order of grants.
    TokensGrow,
    /// Every granted run has exactly one final record, which tells what happened.
    OneRecord,
    /// Every tick is run or has a reason, told once.
    NothingSilent,
    /// A due tick starts in time while one node is up and reaches the backend.
    Liveness,
    /// Nothing is asked for by who has stopped, or for a job that was taken out; of one job a node
    /// asks for one tick after the other.
    Stopped,
    /// Nothing is left behind but marks, tokens and records.
    Tidy,
}

/// What is wrong, and when it showed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Which line of the promise was not kept.
    pub promise: Promise,
    /// When, in microseconds since the start.
    pub at: u64,
    /// What.
    pub text: String,
}

impl Finding {
    pub(super) fn new(promise: Promise, at: u64, text: impl Into<String>) -> Self {
        Self { promise, at, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, us) = (self.at / 1_000_000, self.at % 1_000_000);
        write!(f, "{:?} at {s}.{us:06} s: {}", self.promise, self.text)
    }
}
