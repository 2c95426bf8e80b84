//! What all nodes share: one memory backend or two, with a clock or without.

use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Combined, Finished,
    Lease, LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release, Renewal,
    TestClock,
};
use tidelock_memory::MemoryBackend;

use super::plan::StorePlan;

/// A backend as a plan has it. Clones share what is stored.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    locks: MemoryBackend,
    /// The same backend as `locks`, if records are not kept apart.
    records: MemoryBackend,
    plan: StorePlan,
}

impl Store {
    /// An empty one that keeps all it is told.
    pub(crate) fn new(plan: StorePlan, clock: &TestClock) -> Self {
        // To a backend without a clock no tick is too early, and each is there to be consumed: one
        // whose clock is a hundred years ahead, and told to nobody, does the same.
        let ahead = if plan.clock { 0 } else { 100 * 366 * 24 };
        let memory = || {
            let clock = clock.skewed(SignedDuration::from_hours(ahead));
            MemoryBackend::new().keep(usize::MAX).max_age(Duration::MAX).with_clock(clock)
        };
        let locks = memory();
        let records = if plan.apart { memory() } else { locks.clone() };
        Self { locks, records, plan }
    }

    fn told<T>(&self, mut answer: Answer<T>) -> Answer<T> {
        answer.clock = answer.clock.filter(|_| self.plan.clock);
        answer
    }

    /// A backend over both halves in turn.
    fn halves(&self) -> Combined<MemoryBackend, MemoryBackend> {
        Combined::new(self.locks.clone(), self.records.clone())
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl LockBackend for Store {
    fn has_clock(&self) -> bool {
        self.plan.clock
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        Ok(self.told(self.locks.acquire(request).await?))
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        Ok(self.told(self.locks.renew(lease, ttl).await?))
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        Ok(self.told(self.locks.release(lease).await?))
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        Ok(self.told(self.locks.inspect(key).await?))
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        Ok(self.told(self.locks.force_release(key, clear).await?))
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl RecordStore for Store {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.records.save(record).await
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        self.records.list(query).await
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl Backend for Store {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        Ok(self.told(if self.plan.apart {
            self.halves().begin(request, running).await?
        } else {
            self.locks.begin(request, running).await?
        }))
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        Ok(self.told(if self.plan.apart {
            self.halves().finish(lease, done).await?
        } else {
            self.locks.finish(lease, done).await?
        }))
    }
}
