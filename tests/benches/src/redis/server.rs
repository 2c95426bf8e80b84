//! The Redis server that is measured.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, IntoConnectionInfo};
use tidelock_tests::servers::RedisServer;

use crate::load::{PATIENCE, Server};

/// A server, and a connection to ask it how it is.
pub(crate) struct Redis {
    pub(crate) url: String,
    connection: MultiplexedConnection,
}

impl Redis {
    /// The fixtures' one. The connection lives on the runtime that this is called in.
    pub(crate) async fn connect() -> Self {
        let url = RedisServer::shared().url();
        let connection = connect(&url).await;
        Self { url, connection }
    }

    pub(crate) async fn say<T: FromRedisValue>(&self, command: &Cmd) -> T {
        command.query_async(&mut self.connection.clone()).await.expect("an answer of the server")
    }

    /// How many commands of clients it has executed, and the microseconds that it took for them, by
    /// its own count.
    pub(crate) async fn executed(&self, command: &str) -> (f64, f64) {
        let stats: String = self.say(redis::cmd("INFO").arg("commandstats")).await;
        let name = format!("cmdstat_{command}:");
        let line = stats.lines().find_map(|line| line.strip_prefix(&name));
        let figure = |name: &str| {
            let figures = line.unwrap_or_default().split(',');
            let found = figures.filter_map(|figure| figure.split_once('='));
            let mut found = found.filter(|(known, _)| *known == name);
            found.next().and_then(|(_, value)| value.parse().ok()).unwrap_or(0.0)
        };
        (figure("calls"), figure("usec"))
    }

    /// Bytes of memory that it has in hand for what it stores.
    pub(crate) async fn used_memory(&self) -> f64 {
        let info: String = self.say(redis::cmd("INFO").arg("memory")).await;
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        line.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(f64::NAN)
    }

    /// Bytes of memory that a key takes.
    pub(crate) async fn memory(&self, key: &str) -> f64 {
        let bytes: Option<i64> =
            self.say(redis::cmd("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg(0)).await;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let bytes = bytes.unwrap_or(0) as f64;
        bytes
    }
}

/// A connection with the settings that ours has, and patient: the machine may have much else to do.
pub(crate) async fn connect(url: &str) -> MultiplexedConnection {
    let info = url.into_connection_info().expect("an address");
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let client = Client::open(info.set_tcp_settings(tcp)).expect("an address");
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let opened = client.get_multiplexed_async_connection_with_config(&config).await;
    opened.expect("a server that answers")
}

impl Server for Redis {
    async fn cpu(&self) -> Duration {
        let info: String = self.say(redis::cmd("INFO").arg("cpu")).await;
        let used = ["used_cpu_sys:", "used_cpu_user:"].map(|name| {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|seconds| seconds.trim().parse().ok()).unwrap_or(0.0)
        });
        Duration::from_secs_f64(used.iter().sum())
    }
}
