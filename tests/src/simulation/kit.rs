//! A user's own jobs on a simulated fleet.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::Job;
use tokio::runtime::Handle;

use super::disturbance::{Disturbance, Planned};
use super::due::Due;
use super::log::Log;
use super::outcome::Outcome;
use super::plan::{NodePlan, Plan, StorePlan};
use super::play::in_paused_time;
use super::stage::Stage;
use super::when::whole_ms;
use super::wrong_use::{check_node, check_nodes, check_times};

/// A thousand years.
const FOR_EVER: u64 = 1_000 * 366 * 86_400_000;

/// A fleet of nodes that run a user's jobs in simulated time: a year passes in seconds.
///
/// Every node has all jobs; handlers run as they are, in tokio's paused time. What they wait for
/// has to be tokio's timers, or nothing: while a handler waits for a socket or a thread, time
/// stands still or jumps. The same simulation gives the same outcome each time.
///
/// Nodes are counted from 0. Moments are counted from the start. What goes wrong lasts for as long as
/// was said, whatever else begins or ends meanwhile, and for whoever is started in a node's place; a
/// process alone that stands still is followed by one that does not.
///
/// What is cut off, frozen or away at the end is healed, then all nodes are shut down. Runs under way
/// have two minutes to end, those of a node that is being deployed too, and are then cancelled, which
/// [`assert_all_succeeded`](Outcome::assert_all_succeeded) finds: mind that a round number of days
/// from midnight ends exactly on a tick of a job that is due at midnight.
///
/// [`run_for`](Self::run_for) has a runtime of its own and belongs in a plain `#[test]`, not in a
/// `#[tokio::test]`. In a debug build months pass in seconds where dependencies are optimised, by
/// this in the `Cargo.toml` of your workspace:
///
/// ```toml
/// [profile.dev.package."*"]
/// opt-level = 2
/// ```
///
/// # Panics
///
/// What makes no sense is refused at once, or else by `run_for`: a node that is not there, a
/// disturbance that begins after the end.
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

    /// With that many nodes. What was said of them before stays.
    ///
    /// # Panics
    ///
    /// When it is none, or when something was said of a node that is not there any more.
    #[track_caller]
    pub fn nodes(mut self, count: usize) -> Self {
        check_nodes(&self.plan, count);
        let network = self.plan.nodes.first().map(|node| node.network).unwrap_or_default();
        self.plan.nodes.resize(count, NodePlan { network, ..NodePlan::default() });
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

    /// The clock of a node is ahead by that much (behind, if negative), and by no more than 292 years.
    ///
    /// # Panics
    ///
    /// Here and below: when there is no such node.
    #[track_caller]
    pub fn skew(mut self, node: usize, ahead: SignedDuration) -> Self {
        self.node(node).offset_ms = whole_ms(ahead);
        self
    }

    /// The clock of a node is too fast by that many millionths (too slow, if negative).
    #[track_caller]
    pub fn drift(mut self, node: usize, ppm: i64) -> Self {
        assert!(ppm > -1_000_000, "a clock that drifts by {ppm} ppm goes backward");
        self.node(node).drift_ppm = ppm;
        self
    }

    /// The clock of a node is set forward by that much (back, if negative).
    #[track_caller]
    pub fn step(self, node: usize, at: Duration, by: SignedDuration) -> Self {
        self.disturbed(node, at, Disturbance::Step { node, by_ms: whole_ms(by) })
    }

    /// Requests of all nodes take up to that long.
    pub fn latency(mut self, most: Duration) -> Self {
        for node in &mut self.plan.nodes {
            node.network.latency_ms = ms(most);
        }
        self
    }

    /// Of 1,000 requests and of 1,000 replies, that many are lost.
    #[track_caller]
    pub fn losing(mut self, per_mille: u16) -> Self {
        assert!(per_mille <= 1_000, "{per_mille} of 1,000 requests cannot be lost");
        for node in &mut self.plan.nodes {
            node.network.lose_request = per_mille;
            node.network.lose_reply = per_mille;
        }
        self
    }

    /// A node is cut off from the backend: its calls hang.
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
    pub fn same_name(mut self, node: usize, other: usize) -> Self {
        check_node(other, self.plan.nodes.len(), "");
        self.node(node).namesake = Some(other);
        self
    }

    /// A node stands still, as a process that is stopped by a signal or a suspended machine does.
    #[track_caller]
    pub fn freeze(self, node: usize, at: Duration, lasts: Duration) -> Self {
        self.disturbed(node, at, Disturbance::Freeze { node, for_ms: ms(lasts) })
    }

    /// A node dies at once, and is started again after a while.
    #[track_caller]
    pub fn kill(self, node: usize, at: Duration, back_after: Duration) -> Self {
        self.disturbed(node, at, Disturbance::Kill { node, away_ms: ms(back_after) })
    }

    /// A node is shut down, its runs with so long to end, and another one started in its place.
    #[track_caller]
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
    /// When a job cannot be registered, when a disturbance begins after the end, or when called
    /// within a tokio runtime.
    #[must_use = "an outcome is to be looked at"]
    #[track_caller]
    pub fn run_for(mut self, duration: Duration) -> Outcome {
        (self.plan.heal_at, self.plan.end_at) = (ms(duration), ms(duration));
        assert!(!self.jobs.is_empty(), "there is no job to simulate");
        assert!(self.plan.end_at > 0, "a simulation of no time at all shows nothing");
        check_times(&self.plan);
        let within = Handle::try_current().is_ok();
        assert!(!within, "run_for has a runtime of its own: call it in a plain #[test]");
        let Self { jobs, plan } = &self;
        let due = match in_paused_time(Due::of_all(jobs, plan)) {
            Ok(due) => due,
            Err(error) => panic!("the jobs cannot be simulated: {error}"),
        };
        let ids: Vec<String> = due.iter().map(|due| due.id.clone()).collect();
        let trace = in_paused_time(async {
            let log = Log::new(&ids, true);
            Stage::new(plan, jobs, &ids, log).listening().play().await
        });
        Outcome::new(trace, due, plan)
    }

    #[track_caller]
    fn node(&mut self, node: usize) -> &mut NodePlan {
        check_node(node, self.plan.nodes.len(), "");
        &mut self.plan.nodes[node]
    }

    #[track_caller]
    fn disturbed(mut self, node: usize, at: Duration, what: Disturbance) -> Self {
        check_node(node, self.plan.nodes.len(), "");
        self.plan.disturbances.push(Planned { at: ms(at), what });
        self
    }
}

/// In milliseconds, and no more than can be added to any moment of use.
fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).map_or(FOR_EVER, |ms| ms.min(FOR_EVER))
}
