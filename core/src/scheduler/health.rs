//! What a scheduler tells of itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::{Core, Skew};
use crate::{JobId, Occurrence};

/// Signs of life of a scheduler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Health {
    /// How long ago the loop that finds ticks due came round; it does so every 30 s at least.
    /// `None`: not yet.
    pub last_loop: Option<Duration>,
    /// How long ago the backend last answered. `None`: never.
    pub last_good_call: Option<Duration>,
    /// Records that wait for the store.
    pub unsaved_records: usize,
    /// Records that were dropped because too many waited.
    pub dropped_records: usize,
    /// Runs that go on.
    pub running: usize,
    /// How far this node's clock stands from the backend's. `None`: not known.
    pub skew: Option<Skew>,
    /// Runs started since the start.
    pub runs: u64,
    /// Ticks asked for that another node had taken, since the start.
    pub ticks_lost: u64,
    /// Calls to the backend that failed, since the start.
    pub failed_calls: u64,
}

impl Health {
    pub(super) fn of(core: &Core) -> Self {
        let pulse = &core.pulse;
        Self {
            last_loop: pulse.since_loop(),
            last_good_call: pulse.since_good_call(),
            unsaved_records: core.outbox.len(),
            dropped_records: core.outbox.dropped(),
            running: core.live.count(),
            skew: core.meter.skew(core.clock.now(), Instant::now()),
            runs: pulse.runs.load(Ordering::Relaxed),
            ticks_lost: pulse.ticks_lost.load(Ordering::Relaxed),
            failed_calls: pulse.failed_calls.load(Ordering::Relaxed),
        }
    }
}

/// A job, as this node has it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobStatus {
    /// Its id.
    pub id: JobId,
    /// Its schedule, as text.
    pub schedule: String,
    /// The tick that is waited for. `None`: one is being asked for just now, or there is none.
    pub next: Option<Occurrence>,
    /// How many runs of it go on here.
    pub running: usize,
}
