//! What the tests share: nodes, and short words for requests.

use std::time::Duration;

use tidelock::{Backend, BackendError, Job, Scheduler};
use tidelock_etcd::{EtcdBackend, EtcdBackendBuilder};
use tidelock_tests::servers::namespace;

pub(crate) use tidelock_tests::fleet::Seen;
pub(crate) use tidelock_tests::live::{
    TTL, ask, assert_taken, begin, finish, granted, held, history, job, ms, record,
};

/// So long a test waits for what has to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A builder with a fresh namespace.
pub(crate) fn fresh() -> EtcdBackendBuilder {
    EtcdBackend::builder(namespace())
}

pub(crate) fn at(endpoints: &[String]) -> EtcdBackend {
    fresh().connect_lazy(&endpoints.join(",")).unwrap()
}

/// Of a namespace that others know.
pub(crate) fn named(name: &str, endpoints: &[String]) -> EtcdBackend {
    EtcdBackend::builder(name).connect_lazy(&endpoints.join(",")).unwrap()
}

/// A node with these jobs.
pub(crate) async fn node(backend: impl Backend, jobs: impl IntoIterator<Item = Job>) -> Scheduler {
    let mut node = Scheduler::builder(backend);
    for job in jobs {
        node = node.job(job).unwrap();
    }
    node.start().await.unwrap()
}

/// Two nodes of one namespace, with the jobs that `jobs` makes for each.
pub(crate) async fn two_nodes(
    endpoints: &[String],
    jobs: impl Fn() -> Vec<Job>,
) -> (EtcdBackend, [Scheduler; 2]) {
    let name = namespace();
    let one = node(named(&name, endpoints), jobs()).await;
    let other = node(named(&name, endpoints), jobs()).await;
    (named(&name, endpoints), [one, other])
}

pub(crate) async fn shut_down(nodes: impl IntoIterator<Item = Scheduler>) {
    for node in nodes {
        let report = node.shutdown(Duration::from_secs(5)).await;
        assert_eq!((report.unsaved_records, report.dropped_records), (0, 0), "{report:?}");
    }
}

/// Asks until it is answered: an error has to be one after which it may be.
pub(crate) async fn until_told<T, F>(mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, BackendError>>,
{
    let mut errors = Vec::new();
    while errors.len() < 4 {
        match call().await {
            Ok(told) => return told,
            Err(error) => {
                assert!(error.is_retryable(), "{error:?}");
                errors.push(error);
            }
        }
    }
    panic!("never told: {errors:#?}")
}
