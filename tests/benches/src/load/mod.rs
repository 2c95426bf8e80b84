//! Runs at a server: what they cost it and us, at a number of them at a time.

mod beside;
mod jobs;
mod ticks;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cpu_time::ProcessTime;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::measure::us;

pub(crate) use beside::{Beside, MOST};
pub(crate) use jobs::{Jobs, TTL, now, random};
pub(crate) use ticks::Ticks;

/// What a client does for one run, from its first call to its last.
pub(crate) trait Runs: Send + Sync + 'static {
    /// One whole run of the job of that number.
    fn run(&self, job: usize) -> impl Future<Output = ()> + Send;
}

/// A server that tells how much CPU time it has used.
pub(crate) trait Server {
    fn cpu(&self) -> impl Future<Output = Duration>;
}

/// So long any call may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One thread, as a contender's CPU time is then least disturbed by what else the machine does.
pub(crate) fn runtime() -> Runtime {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.expect("a runtime")
}

/// The columns of [`load`].
pub(crate) const COLUMNS: [&str; 3] = ["runs/s", "server CPU us", "client CPU us"];

/// Runs of that many jobs, side by side, one after the other in each, for so long: runs a second,
/// and the CPU time of the server and of this process for each, in microseconds.
async fn load(
    runs: &Arc<impl Runs>,
    server: &impl Server,
    jobs: usize,
    time: Duration,
) -> Vec<f64> {
    let (begun, server_before) = (Instant::now(), server.cpu().await);
    let (before, until, count) = (ProcessTime::now(), begun + time, Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for job in 0..jobs {
        let (runs, count) = (runs.clone(), count.clone());
        tasks.spawn(async move {
            while Instant::now() < until {
                runs.run(job).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    let (took, client) = (begun.elapsed(), before.elapsed());
    let server = server.cpu().await.saturating_sub(server_before);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let count = count.load(Ordering::Relaxed) as f64;
    vec![count / took.as_secs_f64(), us(server) / count, us(client) / count]
}

/// That many runs of each job, so that each has a history as long as is kept.
pub(crate) async fn fill(runs: &Arc<impl Runs>, jobs: usize, each: usize) {
    let mut tasks = JoinSet::new();
    for job in 0..jobs {
        let runs = runs.clone();
        tasks.spawn(async move {
            for _ in 0..each {
                runs.run(job).await;
            }
        });
    }
    tasks.join_all().await;
}
