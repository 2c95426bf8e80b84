//! A lock with a TTL and no mark, as common lock crates have it.

use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, BackendError, Clear, Lease, LockBackend, LockKey,
    LockState, Release, Renewal,
};
use tidelock_memory::MemoryBackend;

/// The memory backend, made to forget the mark before each grant.
#[derive(Debug)]
pub(crate) struct PlainLock(pub(crate) MemoryBackend);

#[async_trait]
impl LockBackend for PlainLock {
    fn has_clock(&self) -> bool {
        true
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        // In memory nothing comes in between: no call waits.
        let state = self.0.inspect(&request.key).await?;
        if let Some(held) = state.value.held {
            return Ok(Answer::new(Acquisition::Held(held), state.clock));
        }
        let _ = self.0.force_release(&request.key, Clear::LockAndMark).await?;
        self.0.acquire(request).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        self.0.renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        self.0.release(lease).await
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.0.inspect(key).await
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        self.0.force_release(key, clear).await
    }
}
