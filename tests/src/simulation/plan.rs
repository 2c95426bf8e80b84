//! What one simulated run does: plain data, to be printed and cut down.

use std::fmt;

use jiff::Timestamp;
use tidelock::{Fingerprint, Misfire};

use super::disturbance::Planned;
use super::real::Real;
use super::when::When;

/// One run of a fleet. All times are milliseconds of true time since its start.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Where everything that is random comes from.
    pub seed: u64,
    /// The true time at the start.
    pub start: Timestamp,
    /// What they share.
    pub store: StorePlan,
    /// The nodes.
    pub nodes: Vec<NodePlan>,
    /// The jobs, the same on all nodes.
    pub jobs: Vec<JobPlan>,
    /// What goes wrong, and what operators do.
    pub disturbances: Vec<Planned>,
    /// How long blocking code takes.
    pub blocking_ms: u64,
    /// When all clocks are set right: one nap before the rest is healed.
    pub clocks_right_at: u64,
    /// When all that is wrong is healed.
    pub heal_at: u64,
    /// When all nodes are shut down.
    pub end_at: u64,
    /// What real servers in real time are like; `None`: simulated time, and a backend that is
    /// looked into.
    pub real: Option<Real>,
}

/// The backend of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StorePlan {
    /// Whether it has a clock of its own.
    pub clock: bool,
    /// Whether locks are at one place and records at another.
    pub apart: bool,
}

impl Default for StorePlan {
    fn default() -> Self {
        Self { clock: true, apart: false }
    }
}

/// One place in the fleet; a node that dies is followed by another one there, with the same clock.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NodePlan {
    /// When it starts first.
    pub joins_at: u64,
    /// How far its clock is ahead (behind, if negative).
    pub offset_ms: i64,
    /// By how many millionths its clock is too fast.
    pub drift_ppm: i64,
    /// Whether it corrects its due times by the backend's clock.
    pub corrects: bool,
    /// How many runs it has at a time at most.
    pub max_running: Option<usize>,
    /// The place whose name it bears: two nodes were set up with one name by mistake.
    pub namesake: Option<usize>,
    /// Whether those that follow it bear its name again, rather than one of their own.
    pub keeps_name: bool,
    /// Its way to the backend.
    pub network: Network,
    /// Nothing is wrong with it but a small skew and latency: what liveness promises, it keeps.
    pub steady: bool,
}

/// How bad a way to the backend is. Chances are per mille of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Network {
    /// The longest that a request takes.
    pub latency_ms: u64,
    /// The chance that a call fails.
    pub fail: u16,
    /// The chance that a request is lost.
    pub lose_request: u16,
    /// The chance that a reply is lost.
    pub lose_reply: u16,
    /// The chance that a request is given up and arrives all the same.
    pub late: u16,
    /// Up to how much later.
    pub late_ms: u64,
    /// The chance that a reply is slow.
    pub slow_reply: u16,
    /// Up to how slow.
    pub slow_ms: u64,
}

/// One job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JobPlan {
    /// Its id.
    pub id: String,
    /// Its schedule.
    pub when: When,
    /// The one that it may get later, on one node after the other.
    pub edited: Option<When>,
    /// Its lock's TTL, if not the default.
    pub ttl_ms: Option<u64>,
    /// Whether its lock is not renewed.
    pub fixed_lease: bool,
    /// Its timeout.
    pub timeout_ms: Option<u64>,
    /// How long it may go on after it was told to stop.
    pub grace_ms: u64,
    /// What becomes of missed ticks.
    pub misfire: Misfire,
    /// How late a tick may start.
    pub start_within_ms: Option<u64>,
    /// Over how long its start is spread.
    pub splay_ms: u64,
    /// Whether its lock is given up at the timeout, whatever goes on.
    pub force_release: bool,
    /// Whether its handler blocks a thread.
    pub blocking: bool,
    /// What its handler does: each run one of these.
    pub work: Vec<Work>,
}

/// What a handler does in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// Returns at once.
    Quick,
    /// Works so long, whatever it is told.
    Steps(u64),
    /// Works so long, and returns early when it is told to stop.
    Heeds(u64),
    /// Works so long and returns an error.
    Fails(u64),
    /// Works so long and panics.
    Panics(u64),
    /// Panics before it has returned a future.
    PanicsAtOnce,
}

impl Plan {
    /// The ids of its jobs.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.jobs.iter().map(|job| job.id.clone()).collect()
    }
}

impl JobPlan {
    /// What tells its other schedule from its first.
    pub(crate) fn other_fingerprint(&self) -> Option<Fingerprint> {
        let other = self.edited.as_ref()?.schedule().ok()?.fingerprint();
        let first = self.when.schedule().ok()?.fingerprint();
        (other != first).then_some(other)
    }

    /// The job with its other schedule, if it has one.
    pub(crate) fn other(&self) -> Option<Self> {
        let when = self.edited.clone()?;
        Some(Self { when, edited: None, ..self.clone() })
    }

    /// The TTL of its lock, as the engine works it out.
    pub fn lock_ttl_ms(&self) -> u64 {
        match (self.ttl_ms, self.fixed_lease, self.timeout_ms) {
            (Some(ttl), _, _) => ttl,
            (None, true, Some(timeout)) => {
                (timeout + 30_000).max((timeout + self.grace_ms) * 5 / 4)
            }
            _ => 30_000,
        }
    }
}

impl NodePlan {
    /// The name of the node that is started as the `number`th in that place, counted from 0.
    pub(crate) fn name(&self, seat: usize, number: u64) -> String {
        let seat = self.namesake.unwrap_or(seat);
        if self.keeps_name || number == 0 {
            format!("n{seat}")
        } else {
            format!("n{seat}.{number}")
        }
    }

    /// Whether its clock is never far from the true time, unless it is set.
    pub(crate) fn keeps_time(&self) -> bool {
        self.offset_ms.abs() <= 1_000
    }
}

impl Network {
    /// Whether calls fail by chance.
    pub fn is_bad(&self) -> bool {
        self.fail + self.lose_request + self.lose_reply + self.late + self.slow_reply > 0
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ms: u64| ms as f64 / 1_000.0;
        writeln!(f, "seed {} from {}", self.seed, self.start)?;
        writeln!(
            f,
            "clocks right at {:.3} s, healed at {:.3} s, shut down at {:.3} s, blocking code takes {} ms",
            seconds(self.clocks_right_at),
            seconds(self.heal_at),
            seconds(self.end_at),
            self.blocking_ms
        )?;
        if let Some(real) = &self.real {
            writeln!(f, "{real:?}")?;
        }
        writeln!(f, "{:?}", self.store)?;
        for (seat, node) in self.nodes.iter().enumerate() {
            writeln!(f, "node n{seat}: {node:?}")?;
        }
        for job in &self.jobs {
            writeln!(f, "job {}: {} {job:?}", job.id, job.when)?;
        }
        for planned in &self.disturbances {
            writeln!(f, "{planned}")?;
        }
        Ok(())
    }
}
