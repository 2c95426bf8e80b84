//! How the backend is set up.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, ConnectOptions};
use tidelock::BackendError;

use crate::EtcdBackend;
use crate::clock::ServerClock;
use crate::connection::{Timeouts, Wire};
use crate::error::{hung_up, misconfigured};
use crate::history::Sweeps;
use crate::keys::Namespace;
use crate::leases::Leases;
use crate::tls::Tls;

/// How much of a history is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) keep: u64,
    pub(crate) max_age_ms: i64,
}

/// Settings of an [`EtcdBackend`], and the ways to connect one.
///
/// ```no_run
/// # async fn connect() -> Result<(), tidelock::BackendError> {
/// use std::time::Duration;
/// use tidelock_etcd::EtcdBackend;
///
/// let backend = EtcdBackend::builder("billing")
///     .keep(1_000)
///     .max_age(Duration::from_secs(90 * 86_400))
///     .user("tidelock", "password")
///     .connect("http://etcd-1:2379,http://etcd-2:2379,http://etcd-3:2379")
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "settings do nothing until a backend is connected"]
pub struct EtcdBackendBuilder {
    namespace: String,
    keep: u64,
    max_age: Duration,
    timeouts: Timeouts,
    user: Option<(String, String)>,
    tls: Tls,
}

impl EtcdBackendBuilder {
    pub(crate) fn new(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            keep: 100,
            max_age: Duration::from_secs(7 * 24 * 60 * 60),
            timeouts: Timeouts {
                connect: Duration::from_millis(500),
                operation: Duration::from_secs(1),
            },
            user: None,
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
        self.timeouts.connect = timeout;
        self
    }

    /// How long any call may take, repeated tries included. Default: 1 s.
    ///
    /// A renewal takes at most a quarter of its lock's life, whatever is set here.
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.operation = timeout;
        self
    }

    /// Authenticates as that user. Tokens are asked for anew when they expire.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// Trusts members whose certificate this authority has signed, given as PEM, instead of those
    /// that the system trusts.
    #[cfg(feature = "tls")]
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.authority = Some(pem.into());
        self
    }

    /// Shows the members this certificate, given with its key as PEM.
    #[cfg(feature = "tls")]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.tls.client = Some((certificate.into(), key.into()));
        self
    }

    /// Connects to the cluster with members at these addresses, and looks at how it is set up: see
    /// [`EtcdBackend::preflight`].
    ///
    /// `endpoints` is one address, or several with commas between, as `etcdctl` takes them: name as
    /// many members as there are, since calls go to another one when one is away.
    ///
    /// # Errors
    ///
    /// An address or the namespace is none, no member can be reached or the user is refused, or the
    /// cluster is set up in a way that cannot work.
    pub async fn connect(self, endpoints: &str) -> Result<EtcdBackend, BackendError> {
        let backend = self.connect_lazy(endpoints)?;
        let look = async || backend.preflight().await?.check();
        let mut looked = look().await;
        // A server that wants another certificate says so behind the handshake and hangs up: what
        // it said may be lost with the connection, and it says it again.
        for _ in 0..2 {
            if !looked.as_ref().is_err_and(hung_up) {
                break;
            }
            looked = look().await;
        }
        match looked {
            Ok(()) => Ok(backend),
            Err(error) => Err(error.within("connect", endpoints)),
        }
    }

    /// Sets everything up without waiting for the cluster: a service starts while its etcd is away,
    /// and [`EtcdBackend::preflight`] may be called later.
    ///
    /// # Errors
    ///
    /// An address or the namespace is none.
    pub fn connect_lazy(self, endpoints: &str) -> Result<EtcdBackend, BackendError> {
        let endpoints = self.addresses(endpoints)?;
        let first = usize::try_from(RandomState::new().hash_one(()) % 1_024).unwrap_or(0);
        let options = self.options(&endpoints);
        let wire = Wire::new(endpoints, first, options, self.timeouts);
        self.over(wire)
    }

    /// Uses a client that the application has: its addresses, user and certificates. Give it
    /// timeouts of its own, `require_leader` and token refresh.
    ///
    /// No clock of a member is to be seen this way, so that nothing bounds a node whose own is far
    /// ahead.
    ///
    /// # Errors
    ///
    /// The namespace is none.
    pub fn from_client(self, client: Client) -> Result<EtcdBackend, BackendError> {
        let wire = Wire::over(client, self.timeouts);
        self.over(wire)
    }

    fn addresses(&self, endpoints: &str) -> Result<Vec<String>, BackendError> {
        let mut addresses = Vec::new();
        for endpoint in endpoints.split(',').map(str::trim) {
            let secure = self.tls.authority.is_some() || self.tls.client.is_some();
            let address = match endpoint.split_once("://") {
                Some(("http" | "https", _)) => endpoint.to_owned(),
                Some(_) => return Err(misconfigured("an address is neither http:// nor https://")),
                None if secure => format!("https://{endpoint}"),
                None => format!("http://{endpoint}"),
            };
            let uri: hyper::Uri = address.parse().map_err(|_| {
                misconfigured("an address makes no sense: expected http://host:port,http://...")
            })?;
            let named = uri.host().is_some_and(|host| !host.is_empty());
            let bare = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
            if !named || !bare {
                return Err(misconfigured(
                    "an address makes no sense: expected http://host:port, and the user apart",
                ));
            }
            if address.starts_with("https") && !cfg!(feature = "tls") {
                return Err(misconfigured("https:// needs the feature `tls`"));
            }
            if address.starts_with("http:") && secure {
                return Err(misconfigured("certificates need https://"));
            }
            addresses.push(address);
        }
        Ok(addresses)
    }

    fn options(&self, endpoints: &[String]) -> ConnectOptions {
        // Beats no faster than what a server takes for an attack (5 s), and none while idle.
        let mut options = ConnectOptions::new()
            .with_connect_timeout(self.timeouts.connect)
            .with_keep_alive(Duration::from_secs(10), Duration::from_secs(3))
            .with_keep_alive_while_idle(false)
            .with_tcp_keepalive(Duration::from_secs(30))
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if let Some((name, password)) = &self.user {
            options = options.with_user(name, password);
        }
        #[cfg(feature = "tls")]
        if endpoints.iter().any(|endpoint| endpoint.starts_with("https")) {
            options = options.with_tls(self.tls.options());
        }
        let _ = endpoints;
        options
    }

    fn over(self, wire: Wire) -> Result<EtcdBackend, BackendError> {
        if self.timeouts.connect.is_zero() || self.timeouts.operation.is_zero() {
            return Err(misconfigured("a timeout of nothing"));
        }
        let limits = Limits {
            keep: self.keep,
            max_age_ms: i64::try_from(self.max_age.as_millis()).unwrap_or(i64::MAX),
        };
        let wire = Arc::new(wire);
        Ok(EtcdBackend {
            namespace: Namespace::new(self.namespace)?,
            limits,
            leases: Arc::new(Leases::new(wire.clone())),
            clock: Arc::new(ServerClock::new(wire.clone(), self.tls)),
            sweeps: Arc::new(Sweeps::default()),
            with_user: self.user.is_some(),
            wire,
        })
    }
}

impl fmt::Debug for EtcdBackendBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdBackendBuilder")
            .field("namespace", &self.namespace)
            .field("keep", &self.keep)
            .field("max_age", &self.max_age)
            .field("timeouts", &self.timeouts)
            .field("user", &self.user.is_some())
            .field("tls", &self.tls)
            .finish()
    }
}
