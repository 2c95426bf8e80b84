//! Locks at one backend, records at another.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;

use super::{Answer, Backend, BackendError, Begun, ErrorKind, Finished};
use crate::engine::shielded;
use crate::{
    AcquireRequest, Acquisition, Clear, Lease, LockBackend, LockKey, LockState, Record,
    RecordQuery, RecordStore, Release, Renewal,
};

/// A [`Backend`] over any two halves, by calling them in turn.
///
/// Locks may live at one place and records at another, and whoever writes a backend of their own
/// writes the two traits alone. What two steps cannot give: a node that dies between grant and
/// record leaves a run without one; the next grant names it, and its record is written then.
///
/// A record store that is away or hangs never holds a run up for longer than a tenth of the TTL
/// (at most 500 ms), and neither does one that panics: the grant stands, and the record is told as unsaved.
#[derive(Clone, Debug)]
pub struct Combined<L, R> {
    locks: L,
    records: R,
}

const SAVE_BOUND: Duration = Duration::from_millis(500);

impl<L: LockBackend, R: RecordStore> Combined<L, R> {
    /// A backend with its locks in `locks` and its records in `records`.
    pub fn new(locks: L, records: R) -> Self {
        Self { locks, records }
    }

    async fn save_within(&self, bound: Duration, record: &Record) -> Option<BackendError> {
        let failed = |kind| BackendError::new(kind, "combined", "save");
        // Begins with the call itself, which may panic before it returns a future.
        let save = shielded(async { self.records.save(record).await });
        match timeout(bound, save).await {
            Ok(Ok(saved)) => saved.err(),
            Ok(Err(message)) => Some(failed(ErrorKind::Panicked).with_source(message)),
            Err(_) => Some(failed(ErrorKind::Timeout)),
        }
    }
}

#[async_trait]
impl<L: LockBackend, R: RecordStore> Backend for Combined<L, R> {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        let Answer { value: acquisition, clock } = self.locks.acquire(request).await?;
        let mut begun = Begun::whole(acquisition);
        if let Acquisition::Granted(grant) = &begun.acquisition {
            let mut record = running.clone();
            record.token = Some(grant.lease.token);
            begun.unclosed = grant.abandoned.clone();
            begun.unsaved = self.save_within(SAVE_BOUND.min(request.ttl / 10), &record).await;
        }
        Ok(Answer::new(begun, clock))
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        let answer = self.locks.release(lease).await?;
        let unsaved = self.save_within(SAVE_BOUND, done).await;
        Ok(answer.map(|release| Finished { release, unsaved }))
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl<L: LockBackend, R: RecordStore> LockBackend for Combined<L, R> {
    fn has_clock(&self) -> bool {
        self.locks.has_clock()
    }
    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        self.locks.acquire(request).await
    }
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        self.locks.renew(lease, ttl).await
    }
    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        self.locks.release(lease).await
    }
    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.locks.inspect(key).await
    }
    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        self.locks.force_release(key, clear).await
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl<L: LockBackend, R: RecordStore> RecordStore for Combined<L, R> {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.records.save(record).await
    }
    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        self.records.list(query).await
    }
}
