//! Benchmarks at an etcd server.

mod floor;
mod history;
mod lease_each;
mod server;
mod whole_run;

use tidelock_etcd::EtcdBackend;
use tidelock_tests::servers::namespace;

use crate::load::Jobs;

pub(crate) use history::BENCH as HISTORY;
pub(crate) use server::Etcd;
pub(crate) use whole_run::BENCH as WHOLE_RUN;

/// Ours, with the default settings.
async fn ours(endpoints: &str, jobs: usize) -> Jobs<EtcdBackend> {
    let backend = EtcdBackend::connect(endpoints, namespace()).await;
    Jobs::new(backend.expect("a server that answers"), jobs, "node-1")
}
