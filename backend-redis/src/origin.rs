//! Where connections come from.

use std::fmt;
use std::sync::Arc;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, ErrorKind, RedisError, RedisResult};

use crate::connection::{SharedConnection, Timeouts};

/// Where connections come from.
pub(crate) enum Origin {
    /// A server at an address.
    Server(Box<Client>),
    /// The application.
    Given(Arc<dyn SharedConnection>),
    /// The primary that Sentinels name.
    #[cfg(feature = "sentinel")]
    Sentinel(crate::sentinels::Sentinels),
    /// The members of a Cluster.
    #[cfg(feature = "cluster")]
    Cluster(Box<redis::cluster::ClusterClient>),
}

impl Origin {
    /// The Cluster of which these are members.
    #[cfg(feature = "cluster")]
    pub(crate) fn cluster(
        nodes: Vec<String>,
        timeouts: Timeouts,
        tls: &crate::tls::Tls,
    ) -> RedisResult<Self> {
        let secure = nodes.iter().any(|node| node.starts_with("rediss:"));
        // The driver's own retries wait for seconds; those of this crate have a deadline.
        let builder = redis::cluster::ClusterClient::builder(nodes)
            .retries(2)
            .max_retry_wait(100)
            // It comes up in two rounds, and waits for a silent member in both.
            .connection_timeout(timeouts.connect.min(timeouts.operation / 3))
            .response_timeout(timeouts.operation)
            .overall_response_timeout(Some(timeouts.operation))
            .use_protocol(redis::ProtocolVersion::RESP3);
        let builder = if secure { tls.cluster(builder) } else { builder };
        Ok(Self::Cluster(Box::new(builder.build()?)))
    }

    /// A connection for all calls, up or about to come up with the first call.
    pub(crate) async fn open(&self, timeouts: Timeouts) -> RedisResult<Arc<dyn SharedConnection>> {
        match self {
            Self::Given(connection) => return Ok(connection.clone()),
            #[cfg(feature = "cluster")]
            Self::Cluster(client) => return Ok(Arc::new(client.get_async_connection().await?)),
            _ => {}
        }
        // Tries are this crate's own: those of the driver wait longer than a tick can. So are the
        // deadlines of calls: a second timer would tell nothing more.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(timeouts.connect))
            .set_response_timeout(None);
        let client = self.client().await?;
        Ok(Arc::new(ConnectionManager::new_lazy_with_config(client, config)?))
    }

    /// A client of the one server.
    pub(crate) async fn client(&self) -> RedisResult<Client> {
        match self {
            Self::Server(client) => Ok(client.as_ref().clone()),
            #[cfg(feature = "sentinel")]
            Self::Sentinel(sentinels) => sentinels.primary().await,
            _ => {
                let what = "waiting for replicas needs connections of its own";
                Err(RedisError::from((ErrorKind::InvalidClientConfig, what)))
            }
        }
    }

    /// Whether a connection is one to several servers, which hold the keys of different jobs.
    pub(crate) fn is_to_several(&self) -> bool {
        match self {
            Self::Server(_) | Self::Given(_) => false,
            #[cfg(feature = "sentinel")]
            Self::Sentinel(_) => false,
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => true,
        }
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
