//! A backend whose renewals are watched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Finished, Holder,
    Lease, LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release, Renewal,
};
use tokio::time::Instant;

/// Passes all calls on, and notes how long after the last sign of life of its lock each renewal is
/// sent.
#[derive(Clone, Debug)]
pub(crate) struct Watched<B> {
    inner: B,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    last: HashMap<Holder, Instant>,
    gaps: Vec<Duration>,
}

impl<B> Watched<B> {
    pub(crate) fn new(inner: B) -> Self {
        Self { inner, seen: Arc::default() }
    }

    /// The times between a renewal and the one before, or the grant, since this was last asked.
    pub(crate) fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut self.seen().gaps)
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl<B: Backend> Backend for Watched<B> {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        self.seen().last.insert(request.holder.clone(), Instant::now());
        self.inner.begin(request, running).await
    }
    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        self.inner.finish(lease, done).await
    }
}

#[async_trait]
impl<B: Backend> LockBackend for Watched<B> {
    fn has_clock(&self) -> bool {
        self.inner.has_clock()
    }
    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        self.inner.acquire(request).await
    }
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        let now = Instant::now();
        {
            let mut seen = self.seen();
            if let Some(last) = seen.last.insert(lease.holder.clone(), now) {
                seen.gaps.push(now - last);
            }
        }
        self.inner.renew(lease, ttl).await
    }
    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        self.inner.release(lease).await
    }
    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.inner.inspect(key).await
    }
    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        self.inner.force_release(key, clear).await
    }
}

#[async_trait]
impl<B: Backend> RecordStore for Watched<B> {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.inner.save(record).await
    }
    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        self.inner.list(query).await
    }
}
