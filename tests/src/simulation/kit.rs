//! A user's own jobs on a simulated fleet.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{Job, Scheduler};
use tidelock_memory::MemoryBackend;

use super::disturbance::{Disturbance, Planned};
use super::log::Log;
use super::outcome::Outcome;
use super::plan::{NodePlan, Plan, StorePlan};
use super::play::in_paused_time;
use super::stage::Stage;

/// A fleet of nodes that run a user's jobs in simulated time: a year passes in seconds.
///
/// Every node has all jobs; handlers run as they are, in tokio's paused time. What they wait for
/// has to be tokio's timers, or nothing: while a handler waits for a socket or a thread, time
/// stands still or jumps. The same simulation gives the same outcome each time.
///
/// Nodes are counted from 0. Moments are counted from the start. What is cut off, frozen or away
/// at the end is healed, then all nodes are shut down and their runs have two minutes to end.
///
/// # Examples
///
/// A settlement of two minutes, every five, through a bad night:
///
/// ```
/// use std::time::Duration;
/// use tidelock::Job;
/// use tidelock_tests::simulation::Simulation;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minutes = |n: u64| Duration::from_secs(n * 60);
/// let settlement = Job::new("settlement")
///     .cron("*/5 * * * *")?
///     .time_zone("Europe/Berlin")?
///     .run(move |_| tokio::time::sleep(minutes(2)));
///
/// let outcome = Simulation::new([settlement])
///     .nodes(3)
///     .starting("2026-03-28T20:00:00Z".parse()?)
///     .skew(1, jiff::SignedDuration::from_secs(-2))
///     .partition(0, minutes(61), minutes(20))
///     .kill(2, minutes(121), minutes(5))
///     .run_for(minutes(6 * 60));
///
/// outcome.assert_once_per_tick().assert_no_overlap().assert_nothing_silent();
/// assert!(outcome.runs("settlement").len() >= 70);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a simulation does nothing until it is run"]
pub struct Simulation {
    jobs: Vec<Job>,
    plan: Plan,
}

impl Simulation {
    /// Three nodes with these jobs and with clocks that are right, from 2026-01-01T00:00:00Z on.
    pub fn new(jobs: impl IntoIterator<Item = Job>) -> Self {
        let plan = Plan {
            seed: 0,
            // Seconds since 1970 that are in range.
            start: Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH),
            store: StorePlan::default(),
            nodes: Vec::new(),
            jobs: Vec::new(),
            disturbances: Vec::new(),
            blocking_ms: 1,
            clocks_right_at: u64::MAX,
            heal_at: 0,
            end_at: 0,
            real: None,
        };
        Self { jobs: jobs.into_iter().collect(), plan }.nodes(3)
    }

    /// With that many nodes. What was said of nodes before is forgotten.
    pub fn nodes(mut self, count: usize) -> Self {
        self.plan.nodes = vec![NodePlan::default(); count];
        self
    }

    /// With that true time at the start.
    pub fn starting(mut self, at: Timestamp) -> Self {
        self.plan.start = at;
        self
    }

    /// With another seed: for what is random, such as run ids, backoff and latency.
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    /// The clock of a node is ahead by that much (behind, if negative).
    ///
    /// # Panics
    ///
    /// Here and below: when there is no such node.
    pub fn skew(mut self, node: usize, ahead: SignedDuration) -> Self {
        self.plan.nodes[node].offset_ms = i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX);
        self
    }

    /// The clock of a node is too fast by that many millionths (too slow, if negative).
    pub fn drift(mut self, node: usize, ppm: i64) -> Self {
        self.plan.nodes[node].drift_ppm = ppm;
        self
    }

    /// The clock of a node is set forward by that much (back, if negative).
    pub fn step(self, node: usize, at: Duration, by: SignedDuration) -> Self {
        let by_ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.disturbed(node, at, Disturbance::Step { node, by_ms })
    }

    /// Requests of all nodes take up to that long.
    pub fn latency(mut self, most: Duration) -> Self {
        for node in &mut self.plan.nodes {
            node.network.latency_ms = ms(most);
        }
        self
    }

    /// Of 1,000 requests and of 1,000 replies, that many are lost.
    pub fn losing(mut self, per_mille: u16) -> Self {
        for node in &mut self.plan.nodes {
            node.network.lose_request = per_mille;
            node.network.lose_reply = per_mille;
        }
        self
    }

    /// A node is cut off from the backend: its calls hang.
    pub fn partition(self, node: usize, at: Duration, lasts: Duration) -> Self {
        self.disturbed(node, at, Disturbance::Cut { node, for_ms: ms(lasts), silent: true })
    }

    /// The backend is away: all calls fail.
    pub fn outage(mut self, at: Duration, lasts: Duration) -> Self {
        let what = Disturbance::Outage { for_ms: ms(lasts), silent: false };
        self.plan.disturbances.push(Planned { at: ms(at), what });
        self
    }

    /// The store takes no records of a node's, while its locks work.
    pub fn records_away(self, node: usize, at: Duration, lasts: Duration) -> Self {
        let what = Disturbance::RecordsAway { node, for_ms: ms(lasts), silent: false };
        self.disturbed(node, at, what)
    }

    /// Locks are at one backend and records at another, as [`Combined`](tidelock::Combined) has it.
    pub fn records_apart(mut self) -> Self {
        self.plan.store.apart = true;
        self
    }

    /// The backend has no clock of its own.
    pub fn without_backend_clock(mut self) -> Self {
        self.plan.store.clock = false;
        self
    }

    /// A node bears the name of another one, as when both were set up from one text.
    pub fn same_name(mut self, node: usize, other: usize) -> Self {
        self.plan.nodes[node].namesake = Some(other);
        self
    }

    /// A node stands still, as a suspended machine does.
    pub fn freeze(self, node: usize, at: Duration, lasts: Duration) -> Self {
        self.disturbed(node, at, Disturbance::Freeze { node, for_ms: ms(lasts) })
    }

    /// A node dies at once, and is started again after a while.
    pub fn kill(self, node: usize, at: Duration, back_after: Duration) -> Self {
        self.disturbed(node, at, Disturbance::Kill { node, away_ms: ms(back_after) })
    }

    /// A node is shut down, its runs with so long to end, and another one started in its place.
    pub fn deploy(self, node: usize, at: Duration, deadline: Duration) -> Self {
        let what = Disturbance::Stop { node, deadline_ms: ms(deadline), away_ms: 1_000 };
        self.disturbed(node, at, what)
    }

    /// Code given to `run_blocking` takes that long, all of it: it is called at the end of it.
    pub fn blocking_takes(mut self, duration: Duration) -> Self {
        self.plan.blocking_ms = ms(duration);
        self
    }

    /// Runs it for so long.
    ///
    /// # Panics
    ///
    /// When a job cannot be registered, or when called within a tokio runtime.
    #[must_use = "an outcome is to be looked at"]
    pub fn run_for(mut self, duration: Duration) -> Outcome {
        (self.plan.heal_at, self.plan.end_at) = (ms(duration), ms(duration));
        let trace = in_paused_time(async {
            let ids = self.ids().await;
            let log = Log::new(&ids, true);
            Stage::new(&self.plan, &self.jobs, &ids, log).listening().play().await
        });
        Outcome::new(trace)
    }

    /// The ids of the jobs, as a scheduler has them.
    async fn ids(&self) -> Vec<String> {
        let mut builder = Scheduler::builder(MemoryBackend::new()).seed(0);
        for job in &self.jobs {
            builder = builder.job(job.clone()).expect("jobs that can be registered");
        }
        let scheduler = builder.start().await.expect("jobs that can be started");
        scheduler.jobs().into_iter().map(|job| job.id.to_string()).collect()
    }

    fn disturbed(mut self, node: usize, at: Duration, what: Disturbance) -> Self {
        assert!(node < self.plan.nodes.len(), "there is no node {node}");
        self.plan.disturbances.push(Planned { at: ms(at), what });
        self
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
