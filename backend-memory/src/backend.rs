//! The backend: the traits over the shared store.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Finished, Lease,
    LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release, Renewal,
};

use crate::store::Store;

/// A backend in the memory of this process. Clones share one store.
///
/// See the [crate](crate) for what it is for.
#[derive(Clone, Default)]
pub struct MemoryBackend {
    store: Arc<Mutex<Store>>,
}

impl MemoryBackend {
    /// A backend with an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The store, locked. No method awaits while it has it: that makes each one atomic.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        // Nothing panics half-way through a change; what can panic is a clock that a user gave.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("MemoryBackend");
        if let Ok(store) = self.store.try_lock() {
            debug
                .field("limits", &store.limits)
                .field("clock", &store.clock)
                .field("jobs", &store.jobs());
        }
        debug.finish_non_exhaustive()
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl LockBackend for MemoryBackend {
    fn has_clock(&self) -> bool {
        true
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        Ok(self.store().acquire(request))
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        Ok(self.store().renew(lease, ttl))
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        Ok(self.store().release(lease))
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        Ok(self.store().inspect(key))
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        Ok(self.store().force_release(key, clear))
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl RecordStore for MemoryBackend {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.store().save(record);
        Ok(())
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        Ok(self.store().list(query))
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl Backend for MemoryBackend {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        Ok(self.store().begin(request, running).map(Begun::whole))
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        Ok(self.store().finish(lease, done).map(Finished::whole))
    }
}
