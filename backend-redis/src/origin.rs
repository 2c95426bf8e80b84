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
    pub(crate) fn sentinel(sentinels: Vec<String>, url: &str) -> redis::RedisResult<Self> {
        use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
        use redis::{ConnectionAddr, ErrorKind, RedisError, TlsMode};

        let info = crate::config::connection_info(url)?;
        let node = SentinelNodeConnectionInfo::default()
            .set_redis_connection_info(info.redis_settings().clone())
            .set_tcp_settings(info.tcp_settings().clone());
        let (name, node) = match info.addr() {
            ConnectionAddr::Tcp(name, _) => (name.clone(), node),
            ConnectionAddr::TcpTls { host, .. } => {
                (host.clone(), node.set_tls_mode(TlsMode::Secure))
            }
            _ => {
                let what = "expected redis://name-of-the-primary";
                return Err(RedisError::from((ErrorKind::InvalidClientConfig, what)));
            }
        };
        let client =
            SentinelClient::build(sentinels, name, Some(node), SentinelServerType::Master)?;
        Ok(Self::Sentinel(Box::new(tokio::sync::Mutex::new(client))))
    }

    /// The Cluster of which these are members.
    #[cfg(feature = "cluster")]
    pub(crate) fn cluster(
        nodes: Vec<String>,
        timeouts: crate::connection::Timeouts,
    ) -> redis::RedisResult<Self> {
        // The driver's own retries wait for seconds; those of this crate have a deadline.
        let client = redis::cluster::ClusterClient::builder(nodes)
            .retries(2)
            .max_retry_wait(100)
            .connection_timeout(timeouts.connect)
            .response_timeout(timeouts.operation)
            .overall_response_timeout(Some(timeouts.operation))
            .use_protocol(redis::ProtocolVersion::RESP3)
            .build()?;
        Ok(Self::Cluster(Box::new(client)))
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
