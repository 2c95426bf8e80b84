//! What the clocks show at one moment.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::Core;
use super::misfire::instant;
use super::plan::{Basis, Clocks};
use super::skew::Skew;
use crate::ClockPolicy;

/// The node's clock and the backend's at one moment, and what follows from them. Clocks cost more
/// to read than most that is done between two readings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// By the monotonic clock.
    pub(crate) at: Instant,
    pub(crate) wall: Timestamp,
    /// `None`: no answer of the backend has told it yet.
    pub(crate) server: Option<Timestamp>,
    pub(crate) skew: Option<Skew>,
    /// By which clock ticks are planned: by the backend's when the node is to correct its own, or
    /// when its own is so far ahead that it would hear `TooEarly`.
    pub(crate) basis: Basis,
}

impl Reading {
    pub(crate) fn clocks(&self) -> Clocks {
        let server = self.server.map(Timestamp::as_millisecond);
        Clocks { wall: self.wall.as_millisecond(), server }
    }

    /// From when on a job counts that is registered now: what is not due yet by the backend's clock,
    /// where this node knows it, is not past.
    pub(crate) fn begin(&self) -> Timestamp {
        instant(self.clocks().passed(self.basis))
    }
}

impl Core {
    /// Reads all clocks.
    pub(crate) fn read(&self) -> Reading {
        self.read_at(Instant::now())
    }

    /// The same where the monotonic clock was read just now.
    pub(crate) fn read_at(&self, at: Instant) -> Reading {
        self.reading(at, self.meter.at(at))
    }

    /// The same where it is known, too, what the backend's clock shows, and how surely.
    pub(super) fn reading(&self, at: Instant, server: Option<(Timestamp, Duration)>) -> Reading {
        let wall = self.clock.now();
        let Some((server, uncertainty)) = server else {
            return Reading { at, wall, server: None, skew: None, basis: Basis::Wall };
        };
        let skew = Skew { ahead: wall.duration_since(server), uncertainty };
        let ahead = skew.ahead.is_positive() && skew.ahead.unsigned_abs() >= self.max_ahead;
        let by_server = ahead || self.clock_policy == ClockPolicy::Correct;
        let basis = if by_server { Basis::Server } else { Basis::Wall };
        Reading { at, wall, server: Some(server), skew: Some(skew), basis }
    }
}
