//! The shared connection, and when it is replaced.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::{
    ConnectionLike, ConnectionManager, ConnectionManagerConfig, MultiplexedConnection,
};
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, RedisResult};

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

/// The one connection that all calls share.
pub(crate) struct Wire {
    origin: Origin,
    timeouts: Timeouts,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    connection: Option<Arc<dyn SharedConnection>>,
    /// Which one it is, so that a connection is replaced once and not by each call that met it.
    number: u64,
    /// How many calls in a row had no answer on it.
    silent: u32,
}

/// After so many calls in a row without an answer a connection counts as dead: its server may have
/// gone without a word, and its name may lead elsewhere by now.
const SILENT_CALLS: u32 = 3;

impl Wire {
    pub(crate) fn new(origin: Origin, timeouts: Timeouts) -> Self {
        Self { origin, timeouts, current: Mutex::default() }
    }

    /// A handle on the connection, and its number. Does not wait for it to come up: the first call
    /// on it does.
    pub(crate) async fn handle(&self) -> RedisResult<(Box<dyn ConnectionLike + Send>, u64)> {
        if let Some(handle) = self.current().handle() {
            return Ok(handle);
        }
        // Boxed without its type: those of the driver's futures nest too deep for a compiler that
        // has to look through them in every program.
        let open: Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(self.open());
        let opened = open.await?;
        let mut current = self.current();
        // Another call may have been quicker.
        let connection = current.connection.get_or_insert(opened);
        Ok((connection.handle(), current.number))
    }

    async fn open(&self) -> RedisResult<Arc<dyn SharedConnection>> {
        match &self.origin {
            Origin::Given(connection) => Ok(connection.clone()),
            Origin::Server(client) => self.managed(client.as_ref().clone()),
            #[cfg(feature = "sentinel")]
            Origin::Sentinel(sentinel) => {
                let client = sentinel.lock().await.async_get_client().await?;
                self.managed(client)
            }
            #[cfg(feature = "cluster")]
            Origin::Cluster(client) => Ok(Arc::new(client.get_async_connection().await?)),
        }
    }

    /// A connection for one call at a time, which never reconnects.
    pub(crate) async fn own(&self, response: Duration) -> RedisResult<MultiplexedConnection> {
        let client = match &self.origin {
            Origin::Server(client) => client.as_ref().clone(),
            #[cfg(feature = "sentinel")]
            Origin::Sentinel(sentinel) => sentinel.lock().await.async_get_client().await?,
            _ => {
                let what = "waiting for replicas needs connections of its own";
                return Err(RedisError::from((ErrorKind::InvalidClientConfig, what)));
            }
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeouts.connect))
            .set_response_timeout(Some(response));
        let open: Pin<Box<dyn Future<Output = _> + Send + '_>> =
            Box::pin(client.get_multiplexed_async_connection_with_config(&config));
        open.await
    }

    fn managed(&self, client: Client) -> RedisResult<Arc<dyn SharedConnection>> {
        // Tries are this crate's own: those of the driver wait longer than a tick can.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(self.timeouts.connect))
            .set_response_timeout(Some(self.timeouts.operation));
        Ok(Arc::new(ConnectionManager::new_lazy_with_config(client, config)?))
    }

    /// Lets go of the connection of that number; the next call opens another.
    pub(crate) fn replace(&self, number: u64) {
        let mut current = self.current();
        if current.number == number {
            tracing::debug!(origin = ?self.origin, "connection replaced");
            *current = Current { connection: None, number: number + 1, silent: 0 };
        }
    }

    /// Whether a broken connection's successor may be one to another server.
    pub(crate) fn leads_elsewhere(&self) -> bool {
        self.origin.leads_elsewhere()
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
