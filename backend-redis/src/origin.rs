//! Where connections come from.

use std::fmt;
use std::sync::Arc;

use redis::Client;

use crate::connection::SharedConnection;

/// Where connections come from.
pub(crate) enum Origin {
    /// A server at an address.
    Server(Box<Client>),
    /// The application.
    Given(Arc<dyn SharedConnection>),
    /// The primary that Sentinels name.
    #[cfg(feature = "sentinel")]
    Sentinel(Box<tokio::sync::Mutex<redis::sentinel::SentinelClient>>),
    /// The members of a Cluster.
    #[cfg(feature = "cluster")]
    Cluster(Box<redis::cluster::ClusterClient>),
}

impl Origin {
    /// The primary whose name stands in place of the host.
    #[cfg(feature = "sentinel")]
    pub(crate) fn sentinel(
        sentinels: &[String],
        url: &str,
        tls: &crate::tls::Tls,
    ) -> redis::RedisResult<Self> {
        use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
        use redis::{ConnectionAddr, ErrorKind, RedisError};

        use crate::config::connection_info;

        let unfit = |what| RedisError::from((ErrorKind::InvalidClientConfig, what));
        let secure = |addr: &ConnectionAddr| matches!(addr, ConnectionAddr::TcpTls { .. });
        let server = connection_info(url)?;
        let name = match server.addr() {
            ConnectionAddr::Tcp(name, _) | ConnectionAddr::TcpTls { host: name, .. } => name,
            _ => return Err(unfit("expected redis://name-of-the-primary")),
        };
        let infos: Vec<_> =
            sentinels.iter().map(|sentinel| connection_info(sentinel)).collect::<Result<_, _>>()?;
        let first = infos.first().ok_or_else(|| unfit("expected the address of a Sentinel"))?;
        let secure_sentinels = secure(first.addr());
        if infos.iter().any(|info| secure(info.addr()) != secure_sentinels) {
            return Err(unfit("expected Sentinels with TLS, or all without"));
        }
        let addresses = infos.iter().map(|info| info.addr().clone());
        let mut builder = SentinelClientBuilder::new(addresses, name, SentinelServerType::Master)?
            .set_client_to_redis_db(server.redis_settings().db())
            .set_client_to_redis_protocol(server.redis_settings().protocol())
            .set_client_to_redis_tcp_settings(server.tcp_settings().clone())
            .set_client_to_sentinel_tcp_settings(first.tcp_settings().clone());
        if let Some(user) = server.redis_settings().username() {
            builder = builder.set_client_to_redis_username(user);
        }
        if let Some(password) = server.redis_settings().password() {
            builder = builder.set_client_to_redis_password(password);
        }
        if let Some(user) = first.redis_settings().username() {
            builder = builder.set_client_to_sentinel_username(user);
        }
        if let Some(password) = first.redis_settings().password() {
            builder = builder.set_client_to_sentinel_password(password);
        }
        let client = tls.sentinel(builder, secure_sentinels, secure(server.addr())).build()?;
        Ok(Self::Sentinel(Box::new(tokio::sync::Mutex::new(client))))
    }

    /// The Cluster of which these are members.
    #[cfg(feature = "cluster")]
    pub(crate) fn cluster(
        nodes: Vec<String>,
        timeouts: crate::connection::Timeouts,
        tls: &crate::tls::Tls,
    ) -> redis::RedisResult<Self> {
        let secure = nodes.iter().any(|node| node.starts_with("rediss:"));
        // The driver's own retries wait for seconds; those of this crate have a deadline.
        let builder = redis::cluster::ClusterClient::builder(nodes)
            .retries(2)
            .max_retry_wait(100)
            .connection_timeout(timeouts.connect)
            .response_timeout(timeouts.operation)
            .overall_response_timeout(Some(timeouts.operation))
            .use_protocol(redis::ProtocolVersion::RESP3);
        let builder = if secure { tls.cluster(builder) } else { builder };
        Ok(Self::Cluster(Box::new(builder.build()?)))
    }

    /// Whether it gives connections for one call at a time.
    pub(crate) fn gives_own(&self) -> bool {
        match self {
            Self::Server(_) => true,
            Self::Given(_) => false,
            #[cfg(feature = "sentinel")]
            Self::Sentinel(_) => true,
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => false,
        }
    }

    /// Whether a connection made anew may be one to another server.
    pub(crate) fn leads_elsewhere(&self) -> bool {
        match self {
            // A name is looked up by the driver each time that it connects.
            Self::Server(_) | Self::Given(_) => false,
            #[cfg(feature = "sentinel")]
            Self::Sentinel(_) => true,
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => false,
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The address alone: the rest has the password.
            Self::Server(client) => write!(f, "{}", client.get_connection_info().addr()),
            Self::Given(_) => f.write_str("given"),
            #[cfg(feature = "sentinel")]
            Self::Sentinel(_) => f.write_str("sentinel"),
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => f.write_str("cluster"),
        }
    }
}
