//! Benchmarks at a Redis server.

mod by_hand;
mod floor;
mod history;
mod renewals;
mod server;
mod together;
mod watched;
mod whole_run;

use tidelock_redis::RedisBackend;
use tidelock_tests::servers::namespace;

use crate::load::{Jobs, PATIENCE};

pub(crate) use floor::Floor;
pub(crate) use history::BENCH as HISTORY;
pub(crate) use renewals::BENCH as RENEWALS;
pub(crate) use server::{Redis, connect};
pub(crate) use together::BENCH as TOGETHER;
pub(crate) use whole_run::BENCH as WHOLE_RUN;

/// Ours, with the default settings.
async fn ours(url: &str, jobs: usize) -> Jobs<RedisBackend> {
    Jobs::new(backend(url, &namespace(), 100).await, jobs, "node-1")
}

/// A backend that keeps so many runs of each job.
pub(crate) async fn backend(url: &str, namespace: &str, keep: usize) -> RedisBackend {
    let keep = u32::try_from(keep).unwrap_or(u32::MAX);
    let builder = RedisBackend::builder(namespace).keep(keep).operation_timeout(PATIENCE);
    builder.connect(url).await.expect("a server that answers")
}
