//! How the backend is set up.

use std::sync::Arc;
use std::time::Duration;

use redis::{
    Client, ConnectionInfo, ErrorKind as DriverError, IntoConnectionInfo, ProtocolVersion,
    RedisError, RedisResult,
};
use tidelock::{BackendError, ErrorKind};

use crate::RedisBackend;
use crate::connection::{SharedConnection, Timeouts, Wire};
use crate::error::{BACKEND, Odd, failed};
use crate::keys::Namespace;
use crate::origin::Origin;
use crate::replicas::{Replicas, Wanted};
#[cfg(feature = "sentinel")]
use crate::sentinels::Sentinels;
use crate::tls::Tls;

/// As good as endless for a timeout, and no more than a clock can be set ahead by.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of a history is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) keep: u64,
    pub(crate) max_age_ms: u64,
}

/// Settings of a [`RedisBackend`], and the ways to connect one.
///
/// ```no_run
/// # async fn connect() -> Result<(), tidelock::BackendError> {
/// use std::time::Duration;
/// use tidelock_redis::RedisBackend;
///
/// let backend = RedisBackend::builder("billing")
///     .keep(1_000)
///     .max_age(Duration::from_secs(90 * 86_400))
///     .connect("redis://user:password@redis.internal/0")
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a backend is connected"]
pub struct RedisBackendBuilder {
    namespace: String,
    keep: u64,
    max_age: Duration,
    timeouts: Timeouts,
    pub(crate) allow_eviction: bool,
    replicas: Option<Wanted>,
    tls: Tls,
}

impl RedisBackendBuilder {
    pub(crate) fn new(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            keep: 100,
            max_age: Duration::from_secs(7 * 24 * 60 * 60),
            timeouts: Timeouts {
                connect: Duration::from_millis(500),
                operation: Duration::from_secs(1),
            },
            allow_eviction: false,
            replicas: None,
            tls: Tls::default(),
        }
    }

    /// How many runs of each job are kept; ticks that did not run are counted apart. Default: 100.
    ///
    /// All nodes of a fleet should agree: each trims by its own number.
    pub fn keep(mut self, runs: u32) -> Self {
        self.keep = runs.into();
        self
    }

    /// How long a record is kept after it last changed. Default: 7 days.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// How long a connection may take to come up. Default: 500 ms.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.connect = timeout.min(LONGEST);
        self
    }

    /// How long any operation may take, repeated tries included. Default: 1 s.
    ///
    /// A renewal takes at most a quarter of its lock's life, whatever is set here.
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.operation = timeout.min(LONGEST);
        self
    }

    /// Takes a server that may evict marks and tokens when its memory is full.
    ///
    /// A tick whose mark was evicted can run again: without this, connecting to such a server is
    /// an error.
    pub fn allow_eviction(mut self) -> Self {
        self.allow_eviction = true;
        self
    }

    /// After each grant, waits until that many replicas have it, for at most `timeout`; where too few
    /// have it by then, the lock is given up and the tick does not run: its record says
    /// `skipped-unreplicated`, and no other node runs it.
    ///
    /// That makes it unlikely, not impossible, that a failover forgets a grant: the replica that
    /// becomes primary may be one of those that had not acknowledged it, and a renewal or a release
    /// is not waited for. Each run costs two calls more, on connections of their own. No wait takes
    /// longer than an eighth of the lock's life, or 1.5 s, so that the scheduler hears its end. Not
    /// for a Cluster, nor for a connection of the application.
    pub fn wait_replicas(mut self, count: u32, timeout: Duration) -> Self {
        self.replicas = Some(Wanted { count, timeout: timeout.min(LONGEST) });
        self
    }

    /// Trusts a server whose certificate this authority has signed, given as PEM, instead of those
    /// that the system trusts.
    #[cfg(feature = "tls")]
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.authority = Some(pem.into());
        self
    }

    /// Shows the server this certificate, given with its key as PEM.
    #[cfg(feature = "tls")]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.tls.client = Some((certificate.into(), key.into()));
        self
    }

    /// Connects to the server at `redis://user:password@host:port/database`, and looks at how it is
    /// set up: see [`RedisBackend::preflight`].
    ///
    /// # Errors
    ///
    /// The URL or the namespace is none, the server cannot be reached or refuses the user, or it
    /// is set up in a way that cannot work.
    pub async fn connect(self, url: &str) -> Result<RedisBackend, BackendError> {
        checked(self.connect_lazy(url)?).await
    }

    /// Sets everything up for the server at `url` without waiting for it: a service starts while
    /// its Redis is away, and [`RedisBackend::preflight`] may be called later.
    ///
    /// # Errors
    ///
    /// The URL or the namespace is none.
    pub fn connect_lazy(self, url: &str) -> Result<RedisBackend, BackendError> {
        let client = connection_info(url).and_then(|info| self.tls.client(info));
        let client = client.map_err(|error| failed("connect", error))?;
        self.over(Origin::Server(Box::new(client)))
    }

    /// Connects to the primary that Sentinels name, and to its successor after a failover.
    ///
    /// `sentinels` are the addresses of the Sentinels, all with the same user, if with one; in
    /// `url`, the name of the primary stands in place of a host:
    /// `redis://user:password@mymaster/0`. Either may be `rediss://`.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Self::connect).
    #[cfg(feature = "sentinel")]
    pub async fn connect_sentinel(
        self,
        sentinels: impl IntoIterator<Item = impl Into<String>>,
        url: &str,
    ) -> Result<RedisBackend, BackendError> {
        let sentinels: Vec<String> = sentinels.into_iter().map(Into::into).collect();
        let sentinels = Sentinels::new(&sentinels, url, &self.tls);
        let sentinels = sentinels.map_err(|error| failed("connect", error))?;
        let backend = self.over(Origin::Sentinel(sentinels))?;
        backend.preflight().await?.check()?;
        Ok(backend)
    }

    /// Connects to a Redis Cluster, of which `nodes` are some addresses. All keys of a job are at
    /// one of its members.
    ///
    /// # Errors
    ///
    /// As for [`connect`](Self::connect).
    #[cfg(feature = "cluster")]
    pub async fn connect_cluster(
        self,
        nodes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<RedisBackend, BackendError> {
        let nodes: Vec<String> = nodes.into_iter().map(Into::into).collect();
        let origin = Origin::cluster(nodes, self.timeouts, &self.tls);
        checked(self.over(origin.map_err(|error| failed("connect", error))?)?).await
    }

    /// Uses a client that the application has: its address, user and certificates, on a connection
    /// of the backend's own.
    ///
    /// # Errors
    ///
    /// The namespace is none.
    pub fn from_client(self, client: Client) -> Result<RedisBackend, BackendError> {
        self.over(Origin::Server(Box::new(client)))
    }

    /// Uses a connection that the application has. How it reconnects is up to it.
    ///
    /// # Errors
    ///
    /// The namespace is none.
    pub fn from_connection(
        self,
        connection: impl SharedConnection,
    ) -> Result<RedisBackend, BackendError> {
        self.over(Origin::Given(Arc::new(connection)))
    }

    fn over(self, origin: Origin) -> Result<RedisBackend, BackendError> {
        let unfit = |what| {
            let error = BackendError::new(ErrorKind::Misconfigured, BACKEND, "connect");
            Err(error.with_source(Odd(what)))
        };
        if self.timeouts.connect.is_zero() || self.timeouts.operation.is_zero() {
            return unfit("a timeout of zero leaves no time for anything");
        }
        if self.replicas.is_some() && !origin.gives_own() {
            return unfit("wait_replicas is not for a Cluster or a connection of the application");
        }
        let limits = Limits {
            keep: self.keep,
            // A thousand years: no more than a Lua number holds exactly.
            max_age_ms: u64::try_from(self.max_age.as_millis())
                .unwrap_or(u64::MAX)
                .min(1_000 * 366 * 86_400_000),
        };
        Ok(RedisBackend {
            namespace: Namespace::new(self.namespace)?,
            limits,
            timeouts: self.timeouts,
            replicas: self.replicas.map(|wanted| Arc::new(Replicas::new(wanted))),
            allow_eviction: self.allow_eviction,
            wire: Arc::new(Wire::new(origin, self.timeouts)),
        })
    }
}

/// A backend whose server has been looked at.
async fn checked(backend: RedisBackend) -> Result<RedisBackend, BackendError> {
    let looked = async { backend.preflight().await?.check() }.await;
    match looked {
        Ok(()) => Ok(backend),
        Err(error) => Err(error.within("connect", backend.wire.place())),
    }
}

/// A URL with the settings that the backend wants of its connections.
pub(crate) fn connection_info(url: &str) -> RedisResult<ConnectionInfo> {
    // The driver's words do not say what it expects, and may have the password in them.
    let info = url.into_connection_info().map_err(|_| {
        let what = if url.starts_with("rediss://") && cfg!(not(feature = "tls")) {
            "rediss:// needs the feature `tls` of tidelock-redis"
        } else {
            "the URL makes no sense: expected redis://user:password@host:port/database"
        };
        RedisError::from((DriverError::InvalidClientConfig, what))
    })?;
    let settings = info.redis_settings().clone();
    // Version 3 of the protocol tells of a broken connection even when it is idle.
    let settings = settings.set_protocol(ProtocolVersion::RESP3);
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    Ok(info.set_redis_settings(settings).set_tcp_settings(tcp))
}
