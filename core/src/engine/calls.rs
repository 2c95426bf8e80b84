//! Calls to the backend: each has a bound, and none can make the engine panic.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::Core;
use super::shield::shielded;
use crate::{
    AcquireRequest, Answer, BackendError, Begun, ErrorKind, Finished, Lease, LockKey, LockState,
    Record, RecordQuery, Renewal,
};

/// The longest that any call may take.
const MOST: Duration = Duration::from_secs(2);
const LEAST: Duration = Duration::from_millis(50);

/// The bound of a call for a lock of that TTL: several fit into the time between two renewals.
fn bound(ttl: Duration) -> Duration {
    (ttl / 6).clamp(LEAST, MOST)
}

impl Core {
    /// What was answered, and when. `call` begins with the call itself, so that a backend which panics before it returns a
    /// future is caught, too.
    async fn bounded<T>(
        &self,
        operation: &'static str,
        bound: Duration,
        call: impl Future<Output = Result<T, BackendError>>,
    ) -> Result<(T, Instant), BackendError> {
        let mut call = pin!(shielded(call));
        // Many a backend answers at once: a call that does needs no timer.
        let at_once = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        let answered = match at_once {
            Poll::Ready(answered) => Ok(answered),
            Poll::Pending => timeout(bound, call).await,
        };
        let result = match answered {
            Ok(Ok(result)) => result,
            Ok(Err(message)) => {
                let error = BackendError::new(ErrorKind::Panicked, "backend", operation);
                Err(error.with_source(message))
            }
            Err(_) => Err(BackendError::new(ErrorKind::Timeout, "backend", operation)),
        };
        let value = result?;
        let received = Instant::now();
        self.pulse.good_call(received);
        Ok((value, received))
    }

    /// A call whose answer tells the backend's clock.
    async fn timed<T>(
        &self,
        operation: &'static str,
        bound: Duration,
        call: impl Future<Output = Result<Answer<T>, BackendError>>,
    ) -> Result<T, BackendError> {
        let sent = Instant::now();
        let (answer, received) = self.bounded(operation, bound, call).await?;
        if let Some(clock) = answer.clock {
            self.meter.observe(sent, received, clock);
            self.tell_skew(received);
        }
        Ok(answer.value)
    }

    pub(crate) async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Begun, BackendError> {
        self.timed("begin", bound(request.ttl), async {
            self.backend.begin(request, running).await
        })
        .await
    }

    pub(crate) async fn renew(
        &self,
        lease: &Lease,
        ttl: Duration,
    ) -> Result<Renewal, BackendError> {
        self.timed("renew", bound(ttl), async { self.backend.renew(lease, ttl).await }).await
    }

    pub(crate) async fn finish(
        &self,
        lease: &Lease,
        done: &Record,
        ttl: Duration,
    ) -> Result<Finished, BackendError> {
        self.timed("finish", bound(ttl), async { self.backend.finish(lease, done).await }).await
    }

    pub(crate) async fn release(&self, lease: &Lease, ttl: Duration) -> Result<(), BackendError> {
        let released = async { self.backend.release(lease).await };
        self.timed("release", bound(ttl), released).await.map(drop)
    }

    pub(crate) async fn inspect(&self, key: &LockKey) -> Result<LockState, BackendError> {
        self.timed("inspect", MOST, async { self.backend.inspect(key).await }).await
    }

    pub(crate) async fn save(&self, record: &Record) -> Result<(), BackendError> {
        let saved = async { self.backend.save(record).await };
        self.bounded("save", MOST, saved).await.map(|(saved, _)| saved)
    }

    pub(crate) async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        let listed = async { self.backend.list(query).await };
        self.bounded("list", MOST, listed).await.map(|(listed, _)| listed)
    }
}
