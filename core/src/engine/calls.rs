//! Calls to the backend: each has a bound, and none can make the engine panic.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, sleep};

use super::Core;
use super::reading::Reading;
use super::shield::shield;
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

/// A call on its way, or what its backend's panic said before there was one.
type Call<'a, T> =
    Result<Pin<Box<dyn Future<Output = Result<T, BackendError>> + Send + 'a>>, String>;

impl Core {
    /// What was answered. (It is part of whatever waits for it, and small.)
    fn bounded<'a, T: 'a>(
        operation: &'static str,
        bound: Duration,
        mut call: Call<'a, T>,
    ) -> impl Future<Output = Result<T, BackendError>> + Send + 'a {
        // Many a backend answers at once: a call that does needs no timer.
        let mut timer = None;
        let failed = move |kind| BackendError::new(kind, "backend", operation);
        poll_fn(move |context| {
            let polled = match &mut call {
                Ok(call) => shield(|| call.as_mut().poll(context)),
                Err(message) => Err(std::mem::take(message)),
            };
            match polled {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(answer)) => return Poll::Ready(answer),
                Err(message) => {
                    return Poll::Ready(Err(failed(ErrorKind::Panicked).with_source(message)));
                }
            }
            // A call that uses up what its task may do at a time does not hold up its own bound.
            let timer = timer.get_or_insert_with(|| Box::pin(unconstrained(sleep(bound))));
            timer.as_mut().poll(context).map(|()| Err(failed(ErrorKind::Timeout)))
        })
    }

    /// A call to the store of records alone.
    async fn told<T>(&self, operation: &'static str, call: Call<'_, T>) -> Result<T, BackendError> {
        let told = Self::bounded(operation, MOST, call).await?;
        self.pulse.good_call(Instant::now());
        Ok(told)
    }

    /// A call whose answer tells the backend's clock. Tells what all clocks showed when it came.
    fn timed<'a, T: 'a>(
        &'a self,
        operation: &'static str,
        bound: Duration,
        call: Call<'a, Answer<T>>,
        sent: Instant,
    ) -> impl Future<Output = Result<(T, Reading), BackendError>> + Send + 'a {
        let answer = Self::bounded(operation, bound, call);
        async move {
            let answer = answer.await?;
            let received = Instant::now();
            self.pulse.good_call(received);
            let Some(clock) = answer.clock else {
                return Ok((answer.value, self.read_at(received)));
            };
            let server = self.meter.observe(sent, received, clock);
            let reading = self.reading(received, Some(server));
            self.tell_skew(&reading);
            Ok((answer.value, reading))
        }
    }

    pub(crate) fn begin<'a>(
        &'a self,
        request: &'a AcquireRequest,
        running: &'a Record,
        sent: Instant,
    ) -> impl Future<Output = Result<(Begun, Reading), BackendError>> + Send + 'a {
        let call = shield(|| self.backend.begin(request, running));
        self.timed("begin", bound(request.ttl), call, sent)
    }

    pub(crate) async fn renew(
        &self,
        lease: &Lease,
        ttl: Duration,
    ) -> Result<Renewal, BackendError> {
        let sent = Instant::now();
        let call = shield(|| self.backend.renew(lease, ttl));
        self.timed("renew", bound(ttl), call, sent).await.map(|(renewal, _)| renewal)
    }

    pub(crate) async fn finish(
        &self,
        lease: &Lease,
        done: &Record,
        ttl: Duration,
    ) -> Result<Finished, BackendError> {
        let sent = Instant::now();
        let call = shield(|| self.backend.finish(lease, done));
        self.timed("finish", bound(ttl), call, sent).await.map(|(finished, _)| finished)
    }

    pub(crate) async fn release(&self, lease: &Lease, ttl: Duration) -> Result<(), BackendError> {
        let sent = Instant::now();
        let call = shield(|| self.backend.release(lease));
        self.timed("release", bound(ttl), call, sent).await.map(drop)
    }

    pub(crate) async fn inspect(&self, key: &LockKey) -> Result<LockState, BackendError> {
        let sent = Instant::now();
        let call = shield(|| self.backend.inspect(key));
        self.timed("inspect", MOST, call, sent).await.map(|(state, _)| state)
    }

    pub(crate) async fn save(&self, record: &Record) -> Result<(), BackendError> {
        let call = shield(|| self.backend.save(record));
        self.told("save", call).await
    }

    pub(crate) async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        let call = shield(|| self.backend.list(query));
        self.told("list", call).await
    }
}
