//! Building a scheduler.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};

use super::{Control, Scheduler};
use crate::engine::{Core, Parts, tick};
use crate::job::{Definition, Job, JobError};
use crate::{
    AcquireRequest, Backend, Clock, ClockPolicy, IdError, JobId, NodeId, Spawner, SystemClock,
    TokioSpawner,
};

/// A scheduler on its way. See [`Scheduler::builder`].
#[derive(Debug)]
#[must_use = "a scheduler does nothing until it is started"]
pub struct SchedulerBuilder {
    backend: Arc<dyn Backend>,
    node: Option<NodeId>,
    clock: Arc<dyn Clock>,
    clock_policy: ClockPolicy,
    spawner: Arc<dyn Spawner>,
    max_ahead: Duration,
    max_running: Option<usize>,
    seed: Option<u64>,
    jobs: Vec<Definition>,
    ids: HashSet<JobId>,
}

/// Why a scheduler did not start. None of its tasks runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The node's clock is to be corrected by that of a backend which has none.
    #[error("ClockPolicy::Correct needs a backend with a clock of its own: expected Warn")]
    NoClock,
    /// A job was not taken.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The operating system gave no random numbers, which run ids and holders are made of.
    #[error("the operating system gave no random numbers")]
    NoRandom(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl SchedulerBuilder {
    pub(super) fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            node: None,
            clock: Arc::new(SystemClock),
            clock_policy: ClockPolicy::default(),
            spawner: Arc::new(TokioSpawner),
            max_ahead: AcquireRequest::MAX_AHEAD,
            max_running: None,
            seed: None,
            jobs: Vec::new(),
            ids: HashSet::new(),
        }
    }

    /// The node's name, for people: in records, events and logs. Default: `node-` and 8 random
    /// hexadecimal digits. A host name and a process id make a good one.
    ///
    /// # Errors
    ///
    /// The text is no id: see [`NodeId`].
    pub fn node_id(mut self, id: impl AsRef<str>) -> Result<Self, IdError> {
        self.node = Some(NodeId::new(id)?);
        Ok(self)
    }

    /// The clock by which ticks are due. Default: the machine's.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// What a node does about the skew of its clock. Default: [`ClockPolicy::Warn`].
    pub fn clock_policy(mut self, policy: ClockPolicy) -> Self {
        self.clock_policy = policy;
        self
    }

    /// How far ahead of the backend's clock a tick may be granted. Default: 1 s.
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.max_ahead = max_ahead;
        self
    }

    /// How many runs this node has at most at a time. Default: no limit. A full node does not ask
    /// for ticks; it asks when a place frees.
    pub fn max_running(mut self, most: usize) -> Self {
        self.max_running = Some(most.max(1));
        self
    }

    /// Where the scheduler's tasks run. Default: on the tokio runtime that `start` is called in.
    pub fn spawner(mut self, spawner: impl Spawner) -> Self {
        self.spawner = Arc::new(spawner);
        self
    }

    /// Makes run ids, holders and jitter the same each time: for simulations alone. Two nodes of
    /// one fleet must never have one seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Registers a job.
    ///
    /// # Errors
    ///
    /// Something is wrong with the job, or there is one of its id.
    pub fn job(mut self, job: Job) -> Result<Self, JobError> {
        let job = Definition::check(job)?;
        if !self.ids.insert(job.id.clone()) {
            return Err(JobError::Duplicate(job.id));
        }
        self.jobs.push(job);
        Ok(self)
    }

    /// Starts the scheduler. It does not wait for the backend: one that is away delays the ticks,
    /// not the start.
    ///
    /// # Errors
    ///
    /// The settings cannot work together, or a job's schedule panics.
    ///
    /// # Panics
    ///
    /// With the default spawner, outside of a tokio runtime with time enabled.
    pub async fn start(self) -> Result<Scheduler, StartError> {
        if self.clock_policy == ClockPolicy::Correct && !self.backend.has_clock() {
            return Err(StartError::NoClock);
        }
        let mut random = match self.seed {
            Some(seed) => StdRng::seed_from_u64(seed),
            None => StdRng::try_from_rng(&mut SysRng)
                .map_err(|error| StartError::NoRandom(Box::new(error)))?,
        };
        let node = match self.node {
            Some(node) => node,
            None => default_node(&mut random)?,
        };
        let core = Arc::new(Core::new(Parts {
            backend: self.backend,
            node,
            clock: self.clock,
            spawner: self.spawner,
            clock_policy: self.clock_policy,
            max_ahead: self.max_ahead,
            max_running: self.max_running,
            random,
        }));
        let control = Control::new(core.clone());
        for job in self.jobs {
            if let Err(error) = control.register(job) {
                core.stopping.cancel();
                return Err(error.into());
            }
        }
        core.spawn(tick(core.clone()));
        core.spawner.spawn(Box::pin(end_events(core.clone())));
        // Not one of those that a shutdown waits for: it watches over their end.
        core.spawner.spawn(Box::pin(core.clone().start_watchdogs()));
        core.spawn(core.clone().keep_meter());
        tracing::info!(node = %core.node, "scheduler started");
        Ok(Scheduler::new(control))
    }
}

fn default_node(random: &mut StdRng) -> Result<NodeId, StartError> {
    let number: u32 = rand::RngExt::random(random);
    NodeId::new(format!("node-{number:08x}")).map_err(|error| StartError::Job(error.into()))
}

/// Ends the streams of events when the scheduler has stopped and its last task has ended. It is
/// not one of those itself.
async fn end_events(core: Arc<Core>) {
    core.stopping.cancelled().await;
    core.tracker.close();
    core.tracker.wait().await;
    core.events.close();
}
