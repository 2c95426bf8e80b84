//! The shared connection, and when it is replaced.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{AsyncConnectionConfig, RedisResult};

use crate::origin::Origin;

/// A connection that many calls share, as an application may have one already.
///
/// Every cloneable connection of the [`redis`] crate is one: `ConnectionManager`,
/// `MultiplexedConnection` (which never reconnects), `ClusterConnection`.
pub trait SharedConnection: Send + Sync + 'static {
    /// A handle for one call.
    fn handle(&self) -> Box<dyn ConnectionLike + Send>;
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> SharedConnection for C {
    fn handle(&self) -> Box<dyn ConnectionLike + Send> {
        Box::new(self.clone())
    }
}

/// How long a connection may take to come up, and an answer to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) operation: Duration,
}

/// A connection that is coming up.
pub(crate) type Opening =
    Pin<Box<dyn Future<Output = RedisResult<Arc<dyn SharedConnection>>> + Send>>;

/// The one connection that all calls share.
pub(crate) struct Wire {
    origin: Arc<Origin>,
    timeouts: Timeouts,
    current: Mutex<Current>,
    /// The next one. It stays when the call that waits for it is over: where a member of several is
    /// silent, it takes longer to come up than a call may.
    opening: tokio::sync::Mutex<Option<Opening>>,
}

#[derive(Default)]
struct Current {
    connection: Option<Arc<dyn SharedConnection>>,
    /// Which one it is, so that a connection is replaced once and not by each call that met it.
    number: u64,
    /// How many calls in a row had no answer on it.
    silent: u32,
    /// Whether it serves only until its successor is up.
    doubted: bool,
}

/// After so many calls in a row without an answer a connection counts as dead: its server may have
/// gone without a word, and its name may lead elsewhere by now.
const SILENT_CALLS: u32 = 3;

impl Wire {
    pub(crate) fn new(origin: Origin, timeouts: Timeouts) -> Self {
        let (current, opening) = Default::default();
        Self { origin: Arc::new(origin), timeouts, current, opening }
    }

    /// A handle on the connection, and its number. Does not wait for it to come up, where it is one
    /// to a single server: the first call on it does.
    pub(crate) async fn handle(&self) -> RedisResult<(Box<dyn ConnectionLike + Send>, u64)> {
        let mut opening = self.opening.lock().await;
        // Another call may have been quicker.
        if let Some(handle) = self.ready() {
            return Ok(handle);
        }
        let opened = opening.get_or_insert_with(|| self.open()).as_mut().await;
        *opening = None;
        let mut current = self.current();
        let connection = current.connection.insert(opened?);
        Ok((connection.handle(), current.number))
    }

    pub(crate) fn ready(&self) -> Option<(Box<dyn ConnectionLike + Send>, u64)> {
        let current = self.current();
        if !current.doubted {
            return current.handle();
        }
        drop(current);
        self.look_for_successor();
        self.current().handle()
    }

    /// Begins to open the successor of a doubted connection, or takes it where it is up. Nobody
    /// waits for it: the driver's own task opens it, and each call has a look.
    fn look_for_successor(&self) {
        let Ok(mut opening) = self.opening.try_lock() else {
            return;
        };
        let successor = opening.get_or_insert_with(|| self.open());
        let Poll::Ready(opened) = successor.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            return;
        };
        *opening = None;
        if let Ok(connection) = opened {
            let mut current = self.current();
            let number = current.number + 1;
            *current = Current { connection: Some(connection), number, ..Current::default() };
        }
    }

    fn open(&self) -> Opening {
        let (origin, timeouts) = (self.origin.clone(), self.timeouts);
        Box::pin(async move { origin.open(timeouts).await })
    }

    /// Where it leads, without any password.
    pub(crate) fn place(&self) -> String {
        format!("{:?}", self.origin)
    }

    /// A connection for one call at a time, which never reconnects.
    pub(crate) async fn own(&self, response: Duration) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeouts.connect))
            .set_response_timeout(Some(response));
        let client = self.origin.client().await?;
        // Boxed without its type: those of the driver's futures nest too deep for a compiler that
        // has to look through them in every program.
        let open: Pin<Box<dyn Future<Output = _> + Send + '_>> =
            Box::pin(client.get_multiplexed_async_connection_with_config(&config));
        open.await
    }

    /// Lets go of the connection of that number; the next call opens another. One to several servers
    /// serves until then: what is wrong with one of them is nothing to the jobs of the others.
    pub(crate) fn replace(&self, number: u64) {
        let mut current = self.current();
        if current.number == number {
            tracing::debug!(origin = ?self.origin, "connection replaced");
            if self.origin.is_to_several() {
                *current = Current { silent: 0, doubted: true, ..std::mem::take(&mut *current) };
            } else {
                *current = Current { number: number + 1, ..Current::default() };
            }
        }
    }

    /// Whether the successor of a connection that broke, and broke again when `again`, may do what
    /// it cannot.
    pub(crate) fn leads_elsewhere(&self, again: bool) -> bool {
        self.origin.leads_elsewhere() || (again && self.origin.is_to_several())
    }

    /// Whether the keys of different jobs are at different servers.
    pub(crate) fn is_to_several(&self) -> bool {
        self.origin.is_to_several()
    }

    /// Notes that a call on that connection had an answer, of whatever kind.
    pub(crate) fn answered(&self, number: u64) {
        let mut current = self.current();
        if current.number == number {
            current.silent = 0;
        }
    }

    /// Notes that a call on that connection had none in time.
    pub(crate) fn silent(&self, number: u64) {
        let mut current = self.current();
        if current.number != number {
            return;
        }
        current.silent += 1;
        if current.silent >= SILENT_CALLS {
            drop(current);
            self.replace(number);
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn handle(&self) -> Option<(Box<dyn ConnectionLike + Send>, u64)> {
        let connection = self.connection.as_ref()?;
        Some((connection.handle(), self.number))
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("origin", &self.origin)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}
