//! Plans in real time, over real servers.
//!
//! The same workload, and the same oracle. What differs: nodes reach the backend by ways of their
//! own through a [`Venue`], at which bytes are held back and lost and servers are stopped and killed;
//! and what the backend did is known from what nodes heard and from what is left at the end. What
//! nobody heard is unknown, and put where it may have been.

mod endure;
mod infer;
mod memory;
mod play;
mod rehearse;
mod tally;
mod venue;

pub use endure::endure;
pub use play::play_real;
pub use rehearse::rehearse;
pub use tally::Tally;
pub use venue::{Route, Venue};

pub(crate) use infer::{UNKNOWN, moved};

use std::time::Duration;

/// What servers are like on which a plan is played in real time, and how much time is allowed for
/// what takes none in a simulation.
///
/// Everything that the oracle tolerates for the sake of real time comes from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Real {
    /// By how much anything may be late because the machine is busy: a timer, a server, a disk.
    pub slack_ms: u64,
    /// How many servers there are. One of several may be away.
    pub members: usize,
    /// For how many TTLs a dead node's lock may last.
    pub lasting: u64,
    /// How far ahead of the true time a tick may be granted.
    pub ahead_ms: u64,
    /// The TTLs of the jobs' locks are drawn from these.
    pub ttls_ms: &'static [u64],
    /// Whether nodes may correct their clocks by the backend's.
    pub corrects: bool,
}

impl Real {
    /// One server with a clock, and locks that last for their TTL.
    pub const fn new(ttls_ms: &'static [u64]) -> Self {
        Self { slack_ms: 1_500, members: 1, lasting: 1, ahead_ms: 1_000, ttls_ms, corrects: true }
    }

    /// Several servers, of which one may be away; after a change of their leader a lock may last
    /// for a second TTL.
    #[must_use]
    pub const fn members(self, members: usize) -> Self {
        Self { members, lasting: 2, ..self }
    }

    /// A backend whose answers tell no clock, and which holds back what is that far ahead.
    #[must_use]
    pub const fn clockless(self, ahead: Duration) -> Self {
        // Of a few seconds.
        #[expect(clippy::cast_possible_truncation, reason = "of a few seconds")]
        let ahead_ms = ahead.as_millis() as u64;
        Self { ahead_ms, corrects: false, ..self }
    }

    /// How far ahead a node's clock may be where the backend does not know better: less than it
    /// lets pass.
    pub(crate) fn ahead(&self) -> i64 {
        if self.corrects { i64::MAX } else { i64::try_from(self.ahead_ms / 2).unwrap_or(1_000) }
    }
}
