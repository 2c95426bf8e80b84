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

use crate::load::Jobs;

pub(crate) use history::BENCH as HISTORY;
pub(crate) use renewals::BENCH as RENEWALS;
pub(crate) use server::{Redis, connect};
pub(crate) use together::BENCH as TOGETHER;
pub(crate) use whole_run::BENCH as WHOLE_RUN;

/// Ours, with the default settings.
async fn ours(url: &str, jobs: usize) -> Jobs<RedisBackend> {
    let backend = RedisBackend::connect(url, namespace()).await;
    Jobs::new(backend.expect("a server that answers"), jobs, "node-1")
}
