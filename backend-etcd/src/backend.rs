//! The backend: the traits over the transactions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Finished, Lease,
    LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release, Renewal,
};

use crate::EtcdBackendBuilder;
use crate::acquire::{Ask, Told};
use crate::clock::ServerClock;
use crate::config::Limits;
use crate::connection::{Timeouts, Wire};
use crate::history::Sweeps;
use crate::keys::Namespace;
use crate::leases::Leases;

/// A backend at an etcd cluster. Clones share connections and leases.
///
/// See the [crate](crate) for what it promises.
#[derive(Clone)]
pub struct EtcdBackend {
    pub(crate) namespace: Namespace,
    pub(crate) limits: Limits,
    pub(crate) wire: Arc<Wire>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) clock: Arc<ServerClock>,
    pub(crate) sweeps: Arc<Sweeps>,
    pub(crate) with_user: bool,
}

impl EtcdBackend {
    /// Connects to the cluster at `endpoints` with the default settings: one address, or several
    /// with commas between.
    ///
    /// The namespace keeps the jobs of one fleet apart from those of another, such as staging from
    /// production: 1 to 200 bytes, no control characters.
    ///
    /// # Errors
    ///
    /// As for [`EtcdBackendBuilder::connect`].
    pub async fn connect(
        endpoints: &str,
        namespace: impl Into<String>,
    ) -> Result<Self, BackendError> {
        Self::builder(namespace).connect(endpoints).await
    }

    /// Settings for a backend of that namespace.
    pub fn builder(namespace: impl Into<String>) -> EtcdBackendBuilder {
        EtcdBackendBuilder::new(namespace)
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.wire.timeouts
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    async fn ask(
        &self,
        operation: &'static str,
        request: &AcquireRequest,
        running: Option<&Record>,
    ) -> Result<Told, BackendError> {
        let keys = self.namespace.of(request.key.job());
        Ask { backend: self, operation, request, running, keys }.answer().await
    }
}

impl fmt::Debug for EtcdBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdBackend")
            .field("namespace", &self.namespace.name())
            .field("limits", &self.limits)
            .field("wire", &self.wire)
            .field("leases", &self.leases)
            .finish_non_exhaustive()
    }
}

/// The store tells no clock with its answers.
fn answer<T>(value: T) -> Answer<T> {
    Answer::new(value, None)
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl LockBackend for EtcdBackend {
    fn has_clock(&self) -> bool {
        false
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        self.ask("acquire", request, None).await.map(|(acquisition, _)| answer(acquisition))
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        self.renew_lock(lease, ttl).await.map(answer)
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        let released = self.release_lock("release", lease, None).await?;
        Ok(answer(released.release))
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.state(key).await.map(answer)
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        self.free(key, clear).await.map(answer)
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl RecordStore for EtcdBackend {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.save_record(record).await
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        self.newest(query).await
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl Backend for EtcdBackend {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        let (acquisition, stored) = self.ask("begin", request, Some(running)).await?;
        let mut begun = Begun::whole(acquisition);
        if let Acquisition::Granted(grant) = &begun.acquisition {
            // Which runs these are is known only after the step that names them.
            begun.unclosed.clone_from(&grant.abandoned);
            if !stored {
                // Granted before, perhaps by an `acquire`, which stores none.
                let mut record = running.clone();
                record.token = Some(grant.lease.token);
                begun.unsaved = self.save_record(&record).await.err();
            }
        }
        Ok(answer(begun))
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        let released = self.release_lock("finish", lease, Some(done)).await?;
        let mut finished = Finished::whole(released.release);
        finished.unsaved = released.unsaved;
        Ok(answer(finished))
    }
}
