//! Calls on their way to the backend and back.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, ErrorKind, Finished,
    JobId, Lease, LockBackend, LockKey, LockState, Record, RecordQuery, RecordStore, Release,
    Renewal,
};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::{Fault, Faults, Op};

type Sent<T> = Pin<Box<dyn Future<Output = Result<T, BackendError>> + Send>>;

impl<B> Faults<B> {
    /// Sends a call through the link and its fault, if it meets one.
    async fn send<T: Send + 'static>(
        &self,
        op: Op,
        job: &JobId,
        call: Sent<T>,
    ) -> Result<T, BackendError> {
        let fault = self.plan().meet(op, job);
        self.send_with(op, fault, call).await
    }

    async fn send_with<T: Send + 'static>(
        &self,
        op: Op,
        fault: Option<Fault>,
        call: Sent<T>,
    ) -> Result<T, BackendError> {
        if !self.link.passes().await {
            return Err(failed(ErrorKind::Unavailable, op));
        }
        let lost = Err(failed(ErrorKind::Timeout, op));
        let answer = match fault {
            None => call.await,
            Some(Fault::Fail(kind)) => Err(failed(kind, op)),
            Some(Fault::RefuseRecord) => Err(failed(ErrorKind::Unavailable, op)),
            Some(Fault::Delay(by)) => arriving(call, by, Duration::ZERO).await.unwrap_or(lost),
            Some(Fault::DelayReply(by)) => arriving(call, Duration::ZERO, by).await.unwrap_or(lost),
            Some(Fault::LoseRequest) => lost,
            Some(Fault::LoseReply) => {
                let _ = call.await;
                lost
            }
            Some(Fault::ArriveLate(by)) => {
                drop(arriving(call, by, Duration::ZERO));
                lost
            }
            Some(Fault::Hang) => pending().await,
            Some(Fault::HangReply) => {
                let _ = call.await;
                pending().await
            }
            #[expect(clippy::panic, reason = "the fault that was asked for")]
            Some(Fault::Panic) => panic!("{} panics, as asked for", op.as_str()),
        };
        if self.link.passes().await { answer } else { Err(failed(ErrorKind::Timeout, op)) }
    }
}

fn failed(kind: ErrorKind, op: Op) -> BackendError {
    BackendError::new(kind, "faults", op.as_str())
}

/// Executes a call whether or not its caller still waits or is polled: it is in the network.
#[expect(
    clippy::disallowed_methods,
    reason = "the network is no part of a node, and lives on when one is frozen or killed"
)]
fn arriving<T: Send + 'static>(
    call: Sent<T>,
    before: Duration,
    after: Duration,
) -> impl Future<Output = Option<Result<T, BackendError>>> {
    let (reply, answer) = oneshot::channel();
    drop(tokio::spawn(async move {
        // A sleep of nothing would still take a millisecond of tokio's time.
        if !before.is_zero() {
            sleep(before).await;
        }
        let result = call.await;
        if !after.is_zero() {
            sleep(after).await;
        }
        let _ = reply.send(result);
    }));
    async { answer.await.ok() }
}

/// The call with everything it needs, so that it can outlive its caller.
macro_rules! call {
    ($this:ident.$method:ident($($argument:ident),*)) => {{
        let inner = Arc::clone(&$this.inner);
        $(let $argument = $argument.clone();)*
        Box::pin(async move { inner.$method($(&$argument),*).await })
    }};
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl<B: LockBackend> LockBackend for Faults<B> {
    fn has_clock(&self) -> bool {
        self.inner.has_clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        let call = call!(self.acquire(request));
        self.send(Op::Acquire, request.key.job(), call).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        let (inner, sent) = (Arc::clone(&self.inner), lease.clone());
        let call = Box::pin(async move { inner.renew(&sent, ttl).await });
        self.send(Op::Renew, lease.key.job(), call).await
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        self.send(Op::Release, lease.key.job(), call!(self.release(lease))).await
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.send(Op::Inspect, key.job(), call!(self.inspect(key))).await
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        let (inner, sent) = (Arc::clone(&self.inner), key.clone());
        let call = Box::pin(async move { inner.force_release(&sent, clear).await });
        self.send(Op::ForceRelease, key.job(), call).await
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl<B: RecordStore> RecordStore for Faults<B> {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        self.send(Op::Save, &record.job, call!(self.save(record))).await
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        self.send(Op::List, &query.job, call!(self.list(query))).await
    }
}

#[async_trait]
#[warn(clippy::missing_trait_methods)]
impl<B: Backend> Backend for Faults<B> {
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError> {
        let fault = self.plan().meet(Op::Begin, request.key.job());
        if fault == Some(Fault::RefuseRecord) {
            let call = call!(self.acquire(request));
            let answer = self.send_with(Op::Begin, None, call).await?;
            return Ok(answer.map(|acquisition| {
                let mut begun = Begun::whole(acquisition);
                if let Acquisition::Granted(grant) = &begun.acquisition {
                    begun.unclosed = grant.abandoned.clone();
                    begun.unsaved = Some(failed(ErrorKind::Unavailable, Op::Save));
                }
                begun
            }));
        }
        let call = call!(self.begin(request, running));
        self.send_with(Op::Begin, fault, call).await
    }

    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError> {
        let fault = self.plan().meet(Op::Finish, lease.key.job());
        if fault == Some(Fault::RefuseRecord) {
            let call = call!(self.release(lease));
            let answer = self.send_with(Op::Finish, None, call).await?;
            return Ok(answer.map(|release| {
                let mut finished = Finished::whole(release);
                finished.unsaved = Some(failed(ErrorKind::Unavailable, Op::Save));
                finished
            }));
        }
        let call = call!(self.finish(lease, done));
        self.send_with(Op::Finish, fault, call).await
    }
}
