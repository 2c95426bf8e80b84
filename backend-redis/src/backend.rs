//! The backend: the traits over the scripts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Consumed, ErrorKind,
    Finished, Lease, LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release,
    Renewal, SkipReason,
};

use crate::RedisBackendBuilder;
use crate::config::Limits;
use crate::connection::{Timeouts, Wire};
use crate::error::{BACKEND, Odd, refused};
use crate::keys::{Keys, Namespace};
use crate::replicas::Replicas;
use crate::reply::Reply;
use crate::script::{self, Call};
use crate::{locks, records};

/// A backend at a Redis server. Clones share one connection.
///
/// See the [crate](crate) for what it promises.
#[derive(Clone)]
pub struct RedisBackend {
    pub(crate) namespace: Namespace,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) replicas: Option<Arc<Replicas>>,
    pub(crate) allow_eviction: bool,
    pub(crate) wire: Arc<Wire>,
}

impl RedisBackend {
    /// Connects to the server at `url` with the default settings.
    ///
    /// The namespace keeps the jobs of one fleet apart from those of another, such as staging from
    /// production: 1 to 200 bytes, no control characters.
    ///
    /// # Errors
    ///
    /// As for [`RedisBackendBuilder::connect`].
    pub async fn connect(url: &str, namespace: impl Into<String>) -> Result<Self, BackendError> {
        Self::builder(namespace).connect(url).await
    }

    /// Settings for a backend of that namespace.
    pub fn builder(namespace: impl Into<String>) -> RedisBackendBuilder {
        RedisBackendBuilder::new(namespace)
    }

    fn keys(&self, key: &LockKey) -> Keys {
        self.namespace.of(key.job())
    }

    /// An acquire whose grant enough replicas have.
    async fn acquire_replicated(
        &self,
        replicas: &Replicas,
        request: &AcquireRequest,
    ) -> Result<Answer<Acquisition>, BackendError> {
        let call = locks::ask(&script::ACQUIRE, &self.keys(&request.key), request);
        let read = |reply| {
            let (answer, _) = locks::acquisition(request, reply)?;
            let is_grant = matches!(answer.value, Acquisition::Granted(_));
            Ok((answer, is_grant))
        };
        let ran = replicas.run(&self.wire, self.timeouts, &call, request.ttl, read).await;
        let (answer, enough) = ran?;
        let Acquisition::Granted(grant) = &answer.value else {
            return Ok(answer);
        };
        if enough {
            return Ok(answer);
        }
        let _ = self.release(&grant.lease).await?;
        if request.occurrence.is_none() {
            let error = BackendError::new(ErrorKind::Unavailable, BACKEND, "acquire");
            return Err(error.with_source(Odd("too few replicas have the grant")));
        }
        // Told by this node alone: the mark says that it was granted.
        let reason = SkipReason::Unreplicated;
        let mut untold = grant.untold.clone();
        replicas.skipped(request, grant.previous, &mut untold);
        let skipped = Consumed::new(reason, None, grant.previous, untold);
        Ok(Answer::new(Acquisition::Consumed(skipped), answer.clock))
    }

    /// The record of a run whose grant was waited for: the wait stands between the two.
    async fn begin_replicated(
        &self,
        replicas: &Replicas,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        let answer = self.acquire_replicated(replicas, request).await?;
        let clock = answer.clock;
        let mut begun = Begun::whole(answer.value);
        if let Acquisition::Granted(grant) = &begun.acquisition {
            let mut record = running.clone();
            record.token = Some(grant.lease.token);
            begun.unclosed.clone_from(&grant.abandoned);
            begun.unsaved = self.save(&record).await.err();
        }
        Ok(Answer::new(begun, clock))
    }

    async fn run(&self, call: &Call) -> Result<Reply, BackendError> {
        self.wire.run(call, self.timeouts.operation).await
    }
}

impl fmt::Debug for RedisBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBackend")
            .field("namespace", &self.namespace.name())
            .field("limits", &self.limits)
            .field("replicas", &self.replicas)
            .field("wire", &self.wire)
            .finish_non_exhaustive()
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl LockBackend for RedisBackend {
    fn has_clock(&self) -> bool {
        true
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        if let Some(replicas) = &self.replicas {
            return self.acquire_replicated(replicas, request).await;
        }
        let call = locks::ask(&script::ACQUIRE, &self.keys(&request.key), request);
        let reply = self.run(&call).await?;
        locks::acquisition(request, reply).map(|(answer, _)| answer)
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        let call = locks::renew(&self.keys(&lease.key), lease, ttl);
        let within = self.timeouts.operation.min(ttl / 4);
        locks::renewal(self.wire.run(&call, within).await?)
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        let call = locks::release(&self.keys(&lease.key), lease);
        locks::released(self.run(&call).await?).map(|(answer, _)| answer)
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        let call = locks::inspect(&self.keys(key));
        locks::state(key, self.run(&call).await?)
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        let call = locks::force_release(&self.keys(key), clear);
        locks::released(self.run(&call).await?).map(|(answer, _)| answer)
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl RecordStore for RedisBackend {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        let call = records::save(&self.namespace, self.limits, record);
        self.run(&call).await.map(|_| ())
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        let call = records::list(&self.namespace, self.limits, query);
        records::listed(&query.job, self.run(&call).await?)
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl Backend for RedisBackend {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        if let Some(replicas) = &self.replicas {
            return self.begin_replicated(replicas, request, running).await;
        }
        let call = locks::ask(&script::BEGIN, &self.keys(&request.key), request);
        let call = records::with_limits(call, self.limits);
        let call = records::with_running(call, running);
        let (answer, unsaved) = locks::acquisition(request, self.run(&call).await?)?;
        Ok(answer.map(|acquisition| {
            let mut begun = Begun::whole(acquisition);
            if !unsaved.is_empty() {
                // Which of the records was refused is not told: all are saved again.
                if let Acquisition::Granted(grant) = &begun.acquisition {
                    begun.unclosed.clone_from(&grant.abandoned);
                }
                begun.unsaved = Some(refused("begin", unsaved));
            }
            begun
        }))
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        let call = locks::finish(&self.keys(&lease.key), lease);
        let call = records::with_limits(call, self.limits);
        let call = records::with_end(call, lease, done);
        let (answer, unsaved) = locks::released(self.run(&call).await?)?;
        Ok(answer.map(|release| {
            let mut finished = Finished::whole(release);
            if !unsaved.is_empty() {
                finished.unsaved = Some(refused("finish", unsaved));
            }
            finished
        }))
    }
}
