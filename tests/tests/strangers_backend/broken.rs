//! The stranger's backend with one fault each that real ones have had.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, BackendError, Clear, FencingToken, Grant, Lease,
    LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release, Renewal, Untold,
};

use crate::stranger::{StrangersLocks, unpoisoned};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    NoOwnerCheckOnRelease,
    NoMark,
    RenewCreatesTheKey,
    TokenRestartsAfterExpiry,
    RetryWithoutAFreshTtl,
}

/// Locks with a flaw.
#[derive(Debug)]
pub(crate) struct BrokenLocks {
    pub(crate) sound: StrangersLocks,
    pub(crate) flaw: Flaw,
}

#[async_trait]
impl LockBackend for BrokenLocks {
    fn has_clock(&self) -> bool {
        self.sound.has_clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        let before = self.sound.inspect(&request.key).await?.value;
        let mut request = request.clone();
        let is_mine = before.held.as_ref().map(|held| &held.holder) == Some(&request.holder);
        match (self.flaw, before.token) {
            (Flaw::RetryWithoutAFreshTtl, Some(token)) if is_mine => {
                let (key, holder) = (request.key, request.holder);
                let lease = Lease::new(key, holder, request.run_id, token);
                let grant = Grant::new(lease, None, Untold::default(), vec![]);
                return Ok(Answer::new(Acquisition::Granted(grant), None));
            }
            // A lock that knows the job alone, as most do: a manual run leaves the mark.
            (Flaw::NoMark, _) => request.occurrence = None,
            _ => {}
        }
        let mut answer = self.sound.acquire(&request).await?;
        if let Acquisition::Granted(grant) = &mut answer.value
            && self.flaw == Flaw::TokenRestartsAfterExpiry
            && !before.open_runs.is_empty()
        {
            // It was kept in the lock's key, and went with it.
            grant.lease.token = FencingToken::new(1);
        }
        Ok(answer)
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        let answer = self.sound.renew(lease, ttl).await?;
        let state = self.sound.inspect(&lease.key).await?.value;
        if self.flaw == Flaw::RenewCreatesTheKey && state.held.is_none() {
            let (key, holder, run_id) = (lease.key.clone(), lease.holder.clone(), lease.run_id);
            let node = "node".parse().expect("a node's name");
            let fingerprint = tidelock::Fingerprint::new(0);
            let set = AcquireRequest::new(key, holder, run_id, node, None, fingerprint, ttl);
            let _set = self.sound.acquire(&set).await?;
            return Ok(Answer::new(Renewal::Renewed, None));
        }
        Ok(answer)
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        if self.flaw == Flaw::NoOwnerCheckOnRelease {
            return self.sound.force_release(&lease.key, Clear::Lock).await;
        }
        self.sound.release(lease).await
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.sound.inspect(key).await
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        self.sound.force_release(key, clear).await
    }
}

/// Records whose last save wins.
#[derive(Debug, Default)]
pub(crate) struct ForgetfulRecords(Mutex<Vec<Record>>);

#[async_trait]
impl RecordStore for ForgetfulRecords {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        let mut all = unpoisoned(&self.0);
        match all.iter_mut().find(|old| old.run_id == record.run_id) {
            Some(old) => *old = record.clone(),
            None => all.insert(0, record.clone()),
        }
        Ok(())
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        let all = unpoisoned(&self.0);
        let of_job = all.iter().filter(|record| record.job == query.job);
        Ok(of_job.take(query.limit).cloned().collect())
    }
}
