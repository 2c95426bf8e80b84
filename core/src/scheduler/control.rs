//! Working a scheduler that runs.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::{Health, JobStatus};
use crate::engine::{Core, EventStream, Fault, RunNowError, next_tick};
use crate::job::{Definition, Job, JobError};
use crate::{ClockPolicy, NodeId, Occurrence, RunId};

/// Works a scheduler that runs: for handlers, admin routes and tests. Cheap to clone; it does not
/// keep the scheduler running.
#[derive(Clone, Debug)]
pub struct Control {
    pub(super) core: Arc<Core>,
}

impl Control {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The node's name.
    pub fn node_id(&self) -> &NodeId {
        &self.core.node
    }

    /// Registers a job, from now on.
    ///
    /// # Errors
    ///
    /// Something is wrong with the job, there is one of its id, or the scheduler was shut down.
    pub fn add(&self, job: Job) -> Result<(), JobError> {
        if self.core.stopping.is_cancelled() {
            return Err(JobError::ShutDown);
        }
        self.register(Definition::check(job)?)
    }

    pub(super) fn register(&self, job: Definition) -> Result<(), JobError> {
        let (core, job) = (&self.core, Arc::new(job));
        let reading = core.read();
        let now = reading.begin();
        let first = first_tick(&job, now)?;
        let Some(registration) = core.table().insert(job.clone(), now, reading.at) else {
            return Err(JobError::Duplicate(job.id.clone()));
        };
        core.settle_for(registration, &job, now, first, reading.basis);
        core.look_up_soon(registration, job);
        Ok(())
    }

    /// Takes a job out: whether there was one. A run of it goes on to its end and is recorded; a
    /// tick that is being asked for is still run if it is granted.
    pub fn remove(&self, id: &str) -> bool {
        let removed = self.core.table().remove(id);
        // What the handler owns is dropped here, with the table given back.
        removed.is_some()
    }

    /// Puts a job in the place of the one of its id, or registers it if there is none. A run of
    /// the old one goes on to its end.
    ///
    /// Under the same schedule no tick is lost or repeated: one that is being asked for is run by the
    /// old job if it is granted, and the new one goes on after it. Another schedule begins now.
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add); the old job then stays.
    pub fn replace(&self, job: Job) -> Result<(), JobError> {
        let core = &self.core;
        if core.stopping.is_cancelled() {
            return Err(JobError::ShutDown);
        }
        let (job, reading) = (Arc::new(Definition::check(job)?), core.read());
        let now = reading.begin();
        first_tick(&job, now)?;
        let mut table = core.table();
        let asking = table.replace_asking(&job, now, reading.at);
        if let Some(old) = asking {
            // Two ticks asked for at once would be in each other's way.
            drop(table);
            drop(old);
            return Ok(());
        }
        let (mut since, mut cursor, mut registered) = (now, now, reading.at);
        let mut answered = None;
        let old = table.remove(job.id.as_str());
        if let Some(old) = old.as_ref().filter(|old| old.job.fingerprint == job.fingerprint) {
            (since, cursor, registered) = (old.since, old.cursor, old.registered);
            answered = old.answered;
        }
        let registration = table.insert(job.clone(), cursor, registered);
        if let Some(entry) = registration.and_then(|it| table.entry(it)) {
            (entry.since, entry.answered) = (since, answered);
        }
        drop(table);
        // What its handler owns is dropped with the table given back.
        drop(old);
        if let Some(registration) = registration {
            core.settle(registration, &job, cursor, reading.basis);
            core.look_up_soon(registration, job);
        }
        Ok(())
    }

    /// Runs a job now, beside its schedule, and returns the run's id once it is granted. It
    /// consumes no tick.
    ///
    /// # Errors
    ///
    /// There is no such job here, another run of it holds the lock, or the backend could not be
    /// asked within the lock's TTL.
    ///
    /// # Cancel safety
    ///
    /// When the call is dropped the run may take place all the same.
    pub async fn run_now(&self, id: &str) -> Result<RunId, RunNowError> {
        let core = &self.core;
        let job = core.table().find(id).map(|(_, entry)| entry.job.clone());
        let job = job.ok_or_else(|| RunNowError::UnknownJob(id.to_owned()))?;
        let (sender, receiver) = oneshot::channel();
        core.spawn(core.clone().run_manually(job, sender));
        receiver.await.unwrap_or(Err(RunNowError::ShutDown))
    }

    /// The next `n` ticks of a job, by this node's clock; `None` if there is no such job here.
    pub fn next(&self, id: &str, n: usize) -> Option<Vec<Timestamp>> {
        let job = self.core.table().find(id).map(|(_, entry)| entry.job.clone())?;
        let mut after = self.core.clock.now();
        let mut ticks = Vec::new();
        while ticks.len() < n {
            let Ok(Some(tick)) = next_tick(&job, after) else {
                break;
            };
            after = tick.at();
            ticks.push(after);
        }
        Some(ticks)
    }

    /// The jobs registered on this node, in the order of their ids.
    pub fn jobs(&self) -> Vec<JobStatus> {
        let live = self.core.live.all();
        let table = self.core.table();
        let status = |entry: &&crate::engine::Entry| JobStatus {
            id: entry.job.id.clone(),
            schedule: entry.job.schedule.to_string(),
            next: entry.next(),
            running: live.iter().filter(|(_, run)| run.job == entry.job.id).count(),
        };
        table.jobs().iter().map(status).collect()
    }

    /// What happens on this node from now on.
    pub fn events(&self) -> EventStream {
        self.core.events.listen()
    }

    /// Signs of life.
    pub fn health(&self) -> Health {
        Health::of(&self.core)
    }

    /// What this node does about the skew of its clock.
    pub fn clock_policy(&self) -> ClockPolicy {
        self.core.clock_policy
    }
}

/// A job's first tick after `now`: what its schedule says is checked before it is registered.
fn first_tick(job: &Definition, now: Timestamp) -> Result<Option<Occurrence>, JobError> {
    next_tick(job, now).map_err(|Fault(message)| {
        let job = job.id.clone();
        JobError::SchedulePanicked { job, message }
    })
}
