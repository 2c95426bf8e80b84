//! Benchmarks at an etcd server.

mod floor;
mod history;
mod lease_each;
mod server;
mod whole_run;

use tidelock_etcd::EtcdBackend;
use tidelock_tests::servers::namespace;

use crate::load::{Jobs, PATIENCE};

pub(crate) use history::BENCH as HISTORY;
pub(crate) use server::Etcd;
pub(crate) use whole_run::BENCH as WHOLE_RUN;

/// Ours, with the default settings.
async fn ours(endpoints: &str, jobs: usize) -> Jobs<EtcdBackend> {
    Jobs::new(backend(endpoints, 100).await, jobs, "node-1")
}

/// A backend that keeps so many runs of each job.
async fn backend(endpoints: &str, keep: usize) -> EtcdBackend {
    let keep = u32::try_from(keep).unwrap_or(u32::MAX);
    let builder = EtcdBackend::builder(namespace()).keep(keep).operation_timeout(PATIENCE);
    builder.connect(endpoints).await.expect("a server that answers")
}
