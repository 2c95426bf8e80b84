//! Describing a job.

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;

use super::handler::Handler;
use super::{HandlerResult, Job, Misfire, RunContext};
use crate::{OnGap, OnRepeat, Schedule, ScheduleError};

/// A job on its way: schedule and policies first, then the handler, which makes it a [`Job`].
#[derive(Clone, Debug)]
#[must_use = "a job does nothing until it has a handler and is registered"]
pub struct JobBuilder {
    pub(super) id: String,
    pub(super) schedule: Option<Schedule>,
    pub(super) time_zone: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) lock_ttl: Option<Duration>,
    pub(super) fixed_lease: bool,
    pub(super) misfire: Misfire,
    pub(super) start_within: Option<Duration>,
    pub(super) splay: Duration,
    pub(super) force_release: bool,
}

impl JobBuilder {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            schedule: None,
            time_zone: None,
            timeout: None,
            grace: Duration::from_secs(1),
            lock_ttl: None,
            fixed_lease: false,
            misfire: Misfire::default(),
            start_within: None,
            splay: Duration::ZERO,
            force_release: false,
        }
    }

    /// Runs it at the ticks of a schedule.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// Runs it at the ticks of a cron expression: see [`Schedule::cron`].
    ///
    /// # Errors
    ///
    /// The expression is none, or can never fire.
    pub fn cron(mut self, expression: &str) -> Result<Self, ScheduleError> {
        let schedule = Schedule::cron(expression)?;
        self.schedule = Some(match &self.time_zone {
            Some(name) => schedule.time_zone(name)?,
            None => schedule,
        });
        Ok(self)
    }

    /// Runs it every so often, at the same instants on all nodes: see [`Schedule::every`].
    ///
    /// # Errors
    ///
    /// The period is no whole number of milliseconds, or zero.
    pub fn every(mut self, period: Duration) -> Result<Self, ScheduleError> {
        self.schedule = Some(Schedule::every(period)?);
        Ok(self)
    }

    /// Runs it once, at that instant.
    pub fn once(mut self, at: Timestamp) -> Self {
        self.schedule = Some(Schedule::once(at));
        self
    }

    /// Reads the cron expression in that zone of the tz database (default: UTC).
    ///
    /// # Errors
    ///
    /// There is no zone of that name, or the schedule has no use for one.
    pub fn time_zone(mut self, name: &str) -> Result<Self, ScheduleError> {
        self.schedule = self.schedule.map(|schedule| schedule.time_zone(name)).transpose()?;
        self.time_zone = Some(name.to_owned());
        Ok(self)
    }

    /// What becomes of a cron tick whose local time does not exist: see [`OnGap`].
    pub fn on_gap(mut self, on_gap: OnGap) -> Self {
        self.schedule = self.schedule.map(|schedule| schedule.on_gap(on_gap));
        self
    }

    /// What becomes of a cron tick whose local time comes twice: see [`OnRepeat`].
    pub fn on_repeat(mut self, on_repeat: OnRepeat) -> Self {
        self.schedule = self.schedule.map(|schedule| schedule.on_repeat(on_repeat));
        self
    }

    /// Stops a run that takes longer (default: none). It is told first, and dropped after
    /// [`grace`](Self::grace).
    ///
    /// Code that cannot be stopped goes on, and its lock is kept until it ends.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long a run that was told to stop may take before it is dropped. Default: 1 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long the lock lives without renewal. Default: 30 s, renewed every third of it.
    ///
    /// It bounds how long a dead node blocks its job.
    pub fn lock_ttl(mut self, ttl: Duration) -> Self {
        self.lock_ttl = Some(ttl);
        self
    }

    /// Does not renew the lock: it lives for [`lock_ttl`](Self::lock_ttl) if given, else for long
    /// enough to cover the timeout (the timeout and 30 s, or 5/4 of timeout and grace).
    ///
    /// The run is told to stop at 4/5 of that and dropped at 9/10.
    pub fn fixed_lease(mut self) -> Self {
        self.fixed_lease = true;
        self
    }

    /// What becomes of ticks that nobody ran in time. Default: [`Misfire::Once`].
    pub fn misfire(mut self, misfire: Misfire) -> Self {
        self.misfire = misfire;
        self
    }

    /// How late a tick may start, counted from its (splayed) instant. Default: 1 h, and no limit
    /// with [`Misfire::All`].
    pub fn start_within(mut self, limit: Duration) -> Self {
        self.start_within = Some(limit);
        self
    }

    /// Starts each tick later by a part of `max` that depends on the job's id alone, the same on
    /// every node: so that jobs of one schedule do not all start on one second. Default: none.
    pub fn splay(mut self, max: Duration) -> Self {
        self.splay = max;
        self
    }

    /// Releases the lock at the timeout even when the code cannot be stopped and goes on: the next
    /// run may then overlap with it, and its record says so.
    pub fn force_release_on_timeout(mut self) -> Self {
        self.force_release = true;
        self
    }

    /// Runs this future for each tick.
    ///
    /// It is dropped when it may not go on; what it has spawned itself is its own to stop. A panic
    /// is caught and recorded. It returns `()`, or a `Result<(), E>` for any error.
    ///
    /// The closure is called for each run, so what it needs is cloned into each future:
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use tidelock::Job;
    /// # struct Pool;
    /// # impl Pool { async fn clean(&self) -> Result<(), std::io::Error> { Ok(()) } }
    /// # fn main() -> Result<(), tidelock::ScheduleError> {
    /// let pool = Arc::new(Pool);
    /// let job = Job::new("cleaning").every(Duration::from_secs(60))?.run(move |_run| {
    ///     let pool = pool.clone();
    ///     async move {
    ///         pool.clean().await?;
    ///         Ok::<(), std::io::Error>(())
    ///     }
    /// });
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    pub fn run<F, Fut>(self, handler: F) -> Job
    where
        F: Fn(RunContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        Job { settings: self, handler: Handler::from_async(handler) }
    }

    /// Runs this code for each tick, on a thread where it may block.
    ///
    /// It cannot be stopped: it should look at [`RunContext::cancellation`] from time to time. Its
    /// lock is renewed until it ends.
    pub fn run_blocking<F, R>(self, handler: F) -> Job
    where
        F: Fn(RunContext) -> R + Send + Sync + 'static,
        R: HandlerResult,
    {
        Job { settings: self, handler: Handler::from_blocking(handler) }
    }
}
