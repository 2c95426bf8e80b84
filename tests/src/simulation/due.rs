//! Which ticks of a user's jobs are due in a simulation, by their schedules alone.

use std::error::Error;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{AcquireRequest, ErrorKind, Job, Scheduler, TestClock};
use tidelock_memory::MemoryBackend;
use tokio::time::{Instant, sleep};

use super::late::late_ms;
use super::plan::Plan;
use super::when::signed_ms;
use crate::{Fault, Faults, NodeSpawner, Op};

/// What a healthy fleet may need to answer a tick: a call that hangs, a lock that expires.
const SLACK_MS: i64 = 30_000;

/// The ticks of one job.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) id: String,
    /// From the start to the end.
    ticks: Vec<Timestamp>,
    /// By how much each starts later than its instant, and a little more.
    splay: Duration,
}

impl Due {
    /// The ticks of the jobs, in the order of their ids, as a scheduler has it.
    ///
    /// # Errors
    ///
    /// What a user would hear of such jobs.
    pub(super) async fn of_all(jobs: &[Job], plan: &Plan) -> Result<Vec<Self>, Box<dyn Error>> {
        // Together, as two may have one id.
        Asker::new(jobs, plan.start).await?;
        let mut all = Vec::new();
        for job in jobs {
            all.push(Self::of(job, plan).await?);
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(all)
    }

    async fn of(job: &Job, plan: &Plan) -> Result<Self, Box<dyn Error>> {
        let jobs = std::slice::from_ref(job);
        let end = later(plan.start, i64::try_from(plan.end_at)?);
        let asker = Asker::new(jobs, plan.start).await?;
        let id = asker.scheduler.jobs().first().map(|job| job.id.to_string()).unwrap_or_default();
        let mut ticks = asker.ticks(&id, end);
        let splay = match ticks.first() {
            Some(first) => {
                let asker = Asker::new(jobs, *first - SignedDuration::from_millis(1)).await?;
                asker.asks_within(end.duration_since(*first).unsigned_abs()).await
            }
            None => Duration::ZERO,
        };
        let from = later(plan.start, ahead_ms(plan));
        ticks.retain(|tick| *tick > from);
        Ok(Self { id, ticks, splay })
    }

    /// The ticks that a fleet of which nothing is wrong has answered when it is shut down.
    pub(super) fn owed(mut self, plan: &Plan) -> Vec<Timestamp> {
        let latency = plan.nodes.iter().map(|node| node.network.latency_ms).max().unwrap_or(0);
        let trips = i64::try_from(latency.saturating_mul(6)).unwrap_or(i64::MAX);
        let splay = i64::try_from(self.splay.as_millis()).unwrap_or(i64::MAX);
        let end = i64::try_from(plan.end_at).unwrap_or(i64::MAX);
        let answered = [SLACK_MS, trips, splay].into_iter().fold(end, i64::saturating_sub);
        let last = later(plan.start, answered.saturating_sub(late_ms(plan, answered)));
        self.ticks.truncate(self.ticks.partition_point(|tick| *tick <= last));
        self.ticks
    }
}

/// A node that is never granted anything: no handler is called.
struct Asker {
    scheduler: Scheduler,
    way: Faults<MemoryBackend>,
    process: NodeSpawner,
}

impl Asker {
    async fn new(jobs: &[Job], start: Timestamp) -> Result<Self, Box<dyn Error>> {
        let (clock, process) = (TestClock::new(start), NodeSpawner::new());
        let way = Faults::new(MemoryBackend::new().with_clock(clock.clone()));
        way.always(Op::Begin, Fault::Fail(ErrorKind::Unavailable));
        let builder = Scheduler::builder(way.clone()).clock(clock).seed(0);
        let mut builder = builder.spawner(process.clone());
        for job in jobs {
            builder = builder.job(job.clone())?;
        }
        Ok(Self { scheduler: builder.start().await?, way, process })
    }

    /// The ticks of a job up to a moment.
    fn ticks(&self, id: &str, end: Timestamp) -> Vec<Timestamp> {
        let mut most = 1_024;
        loop {
            let mut ticks = self.scheduler.next(id, most).unwrap_or_default();
            if ticks.len() < most || ticks.last().is_some_and(|last| *last > end) {
                ticks.truncate(ticks.partition_point(|tick| *tick <= end));
                return ticks;
            }
            most *= 4;
        }
    }

    /// After how long it asks for a tick that is due now. What a job is spread over is its own.
    async fn asks_within(&self, most: Duration) -> Duration {
        let begun = Instant::now();
        while self.way.count(Op::Begin) == 0 && begun.elapsed() < most {
            sleep(Duration::from_secs(1).max(begun.elapsed() / 100)).await;
        }
        begun.elapsed()
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.process.kill();
    }
}

fn later(start: Timestamp, ms: i64) -> Timestamp {
    let most = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    start.checked_add(signed_ms(ms)).unwrap_or(most)
}

/// How far the clocks of nodes are ahead at the start: the first job that is registered may begin
/// so much later. A backend with a clock grants no tick that is further ahead.
fn ahead_ms(plan: &Plan) -> i64 {
    let ahead = plan.nodes.iter().map(|node| node.offset_ms).max().unwrap_or(0).max(0);
    let most = i64::try_from(AcquireRequest::MAX_AHEAD.as_millis()).unwrap_or(i64::MAX);
    if plan.store.clock { ahead.min(most) } else { ahead }
}
