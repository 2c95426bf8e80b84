//! What is left at the backend when all is over.

use std::fmt::Debug;
use std::time::Duration;

use tidelock::{Backend, JobId, LockKey, LockState, Scheduler};
use tokio::time::sleep;

use super::log::Left;
use super::plan::JobPlan;
use super::stage::Stage;

impl Stage<'_> {
    /// Waits until the locks of nodes that have died are gone, which go by themselves: a run that
    /// holds its lock is not closed.
    pub(super) async fn outlast_locks(&self) {
        let lasting = self.plan.real.map_or(1, |real| real.lasting);
        let longest = match self.plan.jobs.iter().map(JobPlan::lock_ttl_ms).max() {
            Some(ttl) => Duration::from_millis(ttl * lasting),
            // Of a user's jobs the backend alone knows.
            None => self.longest_lock().await,
        };
        sleep(longest.saturating_add(Duration::from_secs(1))).await;
    }

    /// For how long a lock lives that nobody renews.
    async fn longest_lock(&self) -> Duration {
        let (backend, mut longest) = (self.venue.reader(), Duration::ZERO);
        for id in self.ids {
            let held = state(&*backend, id).await.held;
            longest = held.map_or(longest, |held| longest.max(held.expires_in));
        }
        longest
    }

    /// What the backend has of each job.
    pub(super) async fn left(&self) -> Vec<Left> {
        let backend = self.venue.reader();
        let builder = Scheduler::builder(backend.clone());
        let Ok(reader) = builder.clock(self.clock.clone()).seed(0).start().await else {
            return Vec::new();
        };
        let mut left = Vec::new();
        for id in self.ids {
            let records = told(id, async || reader.history(id, self.most()).await).await;
            left.push(Left { records, state: state(&*backend, id).await });
        }
        left
    }

    /// How many records are read of a job: all, or as many as a real server is asked for at a time.
    fn most(&self) -> usize {
        if self.plan.real.is_some() { 20_000 } else { usize::MAX }
    }
}

async fn state(backend: &dyn Backend, id: &str) -> LockState {
    let Ok(job) = JobId::new(id) else { return LockState::default() };
    let key = LockKey::of(&job);
    told(id, async || backend.inspect(&key).await).await.value
}

/// Asks until it is told: on a busy machine a real server may need some time, and nothing can be
/// said of what was not read.
async fn told<T, E: Debug>(id: &str, ask: impl AsyncFn() -> Result<T, E>) -> T {
    const TRIES: u32 = 60;
    let mut failures = 0;
    loop {
        match ask().await {
            Ok(told) => return told,
            Err(error) if failures == TRIES => {
                panic!("what is left of {id} cannot be read: {error:?}")
            }
            Err(_) => failures += 1,
        }
        sleep(Duration::from_millis(500)).await;
    }
}
