//! What passes between a node and the backend, noted at either end.

use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Finished, Lease,
    LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release, Renewal,
};

use super::event::{Answered, Ask, Life, What};
use super::log::Log;
use super::real::moved;

/// Where a tap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// At the backend: what it did, whether or not anybody heard of it.
    Store,
    /// At the node: what it asked and heard.
    Node,
}

/// A backend, and a note of what is asked and answered.
#[derive(Clone, Debug)]
pub(crate) struct Tap<B> {
    inner: B,
    end: End,
    life: Life,
    log: Log,
    /// Whether nothing is known of the backend but what it answers.
    learns: bool,
}

impl<B> Tap<B> {
    pub(crate) fn at_store(inner: B, life: Life, log: Log) -> Self {
        Self { inner, end: End::Store, life, log, learns: false }
    }

    pub(crate) fn at_node(inner: B, life: Life, log: Log) -> Self {
        Self { inner, end: End::Node, life, log, learns: false }
    }

    /// The same, which notes too what answers tell of others.
    pub(crate) fn learning(self, learns: bool) -> Self {
        Self { learns, ..self }
    }

    fn ask(&self, request: &AcquireRequest) -> Ask {
        let job = self.log.job(request.key.job());
        Ask {
            life: self.life,
            job,
            run: request.run_id,
            tick: request.occurrence,
            edited: self.log.is_edited(job, request.fingerprint),
        }
    }

    fn asked(&self, request: &AcquireRequest) {
        if self.end == End::Node {
            self.log.note(What::Asked(self.ask(request)));
        }
    }

    fn answered(&self, request: &AcquireRequest, acquisition: Option<&Acquisition>) {
        let ask = self.ask(request);
        match (self.end, acquisition) {
            (End::Node, _) => self.log.note(What::Heard(ask, heard(acquisition))),
            (End::Store, Some(Acquisition::Granted(grant))) => {
                let (token, previous) = (grant.lease.token.get(), grant.previous);
                let previous = previous.map(|mark| mark.occurrence);
                self.log.note_first(ask, token, What::Granted { ask, token, previous });
            }
            (End::Store, Some(Acquisition::Consumed(consumed))) => {
                let previous = consumed.previous.map(|mark| mark.occurrence);
                let (reason, blocked_by) = (consumed.reason, consumed.blocked_by);
                let what = What::Consumed { ask, reason, blocked_by, previous };
                self.log.note_first(ask, 0, what);
            }
            // Who is told that another has the tick is told what the other may not have heard.
            (End::Store, Some(Acquisition::AlreadyTaken(taken))) if self.learns => {
                let mark = &taken.mark;
                let (life, run) = (self.log.asker(mark.run_id), mark.run_id);
                let ask = Ask { life, run, tick: Some(mark.point.occurrence), ..ask };
                let what = moved(mark, ask);
                let token = if let What::Granted { token, .. } = what { token } else { 0 };
                self.log.note_first(ask, token, what);
            }
            (End::Store, _) => {}
        }
    }

    fn released(&self, lease: &Lease, release: Release) {
        if self.end == End::Store && release == Release::Released {
            self.log.note(What::Released {
                life: self.life,
                job: self.log.job(lease.key.job()),
                run: lease.run_id,
                token: lease.token.get(),
            });
        }
    }

    fn saved(&self, record: &Record) {
        if self.end == End::Store
            && let Some(ticks) = record.ticks
        {
            self.log.note(What::Saved {
                life: self.life,
                job: self.log.job(&record.job),
                state: record.state,
                count: ticks.count,
            });
        }
    }
}

fn heard(acquisition: Option<&Acquisition>) -> Answered {
    match acquisition {
        Some(Acquisition::Granted(_)) => Answered::Granted,
        Some(Acquisition::Consumed(_)) => Answered::Consumed,
        Some(Acquisition::AlreadyTaken(_)) => Answered::Taken,
        Some(Acquisition::TooEarly { .. }) => Answered::TooEarly,
        Some(Acquisition::Held(_)) => Answered::Held,
        Some(Acquisition::Expired(_)) => Answered::Expired,
        _ => Answered::Failed,
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl<B: LockBackend> LockBackend for Tap<B> {
    fn has_clock(&self) -> bool {
        self.inner.has_clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        self.asked(request);
        let answer = self.inner.acquire(request).await;
        self.answered(request, answer.as_ref().ok().map(|answer| &answer.value));
        answer
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        self.inner.renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        let answer = self.inner.release(lease).await?;
        self.released(lease, answer.value);
        Ok(answer)
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
#[warn(clippy::missing_trait_methods)]
impl<B: RecordStore> RecordStore for Tap<B> {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.inner.save(record).await?;
        self.saved(record);
        Ok(())
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        self.inner.list(query).await
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl<B: Backend> Backend for Tap<B> {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        self.asked(request);
        let answer = self.inner.begin(request, running).await;
        self.answered(request, answer.as_ref().ok().map(|answer| &answer.value.acquisition));
        answer
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        let answer = self.inner.finish(lease, done).await?;
        self.released(lease, answer.value.release);
        if answer.value.unsaved.is_none() {
            self.saved(done);
        }
        Ok(answer)
    }
}
