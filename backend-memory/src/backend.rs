//! The backend: the traits over the shared stores.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Clock, Finished,
    JobId, Lease, LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release,
    Renewal, SystemClock, TestClock,
};

use crate::store::Store;

/// A backend in the memory of this process. Clones share one store.
///
/// See the [crate](crate) for what it is for.
#[derive(Clone)]
pub struct MemoryBackend {
    stores: Arc<[Mutex<Store>]>,
}

/// Jobs are spread over so many stores, so that threads seldom wait for each other.
const STORES: usize = 16;

impl Default for MemoryBackend {
    fn default() -> Self {
        // One clock for all of them.
        let clock: Arc<dyn Clock> = Arc::new(TestClock::new(SystemClock.now()));
        Self { stores: (0..STORES).map(|_| Mutex::new(Store::new(clock.clone()))).collect() }
    }
}

impl MemoryBackend {
    /// A backend with an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The store of a job, locked. No method awaits while it has it: that makes each one atomic.
    fn store(&self, job: &JobId) -> MutexGuard<'_, Store> {
        // FNV-1a: who wants all jobs in one store has what one store would do.
        let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        let hash = job.as_str().as_bytes().iter().fold(0x811c_9dc5, hash);
        lock(&self.stores[hash as usize % STORES])
    }

    /// Sets up all stores.
    pub(crate) fn set(self, change: impl Fn(&mut Store)) -> Self {
        self.stores.iter().for_each(|store| change(&mut lock(store)));
        self
    }
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    // Nothing panics half-way through a change; what can panic is a clock that a user gave.
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("MemoryBackend");
        // A clock that a user gave may print its backend.
        let stores: Vec<_> = self.stores.iter().map_while(|store| store.try_lock().ok()).collect();
        if let ([first, ..], STORES) = (&stores[..], stores.len()) {
            debug
                .field("limits", &first.limits)
                .field("clock", &first.clock)
                .field("jobs", &stores.iter().map(|store| store.jobs()).sum::<usize>());
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
        Ok(self.store(request.key.job()).acquire(request))
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        Ok(self.store(lease.key.job()).renew(lease, ttl))
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        Ok(self.store(lease.key.job()).release(lease))
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        Ok(self.store(key.job()).inspect(key))
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        Ok(self.store(key.job()).force_release(key, clear))
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl RecordStore for MemoryBackend {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.store(&record.job).save(record);
        Ok(())
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        Ok(self.store(&query.job).list(query))
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
        Ok(self.store(request.key.job()).begin(request, running).map(Begun::whole))
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        Ok(self.store(lease.key.job()).finish(lease, done).map(Finished::whole))
    }
}
