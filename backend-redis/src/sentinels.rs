//! The primary that Sentinels name.

use std::future::poll_fn;
use std::task::Poll;

use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, RedisResult};
use tokio::sync::Mutex;

use crate::config::connection_info;
use crate::tls::Tls;

/// Sentinels, of which each may know the primary.
///
/// A client each, and all are asked at once: the driver's own client for several waits for each in
/// their order, and for a silent one longer than a call may take.
pub(crate) struct Sentinels(Vec<Mutex<SentinelClient>>);

impl Sentinels {
    /// For the primary whose name stands in place of the host.
    pub(crate) fn new(sentinels: &[String], url: &str, tls: &Tls) -> RedisResult<Self> {
        let server = connection_info(url)?;
        let clients: Vec<_> = sentinels
            .iter()
            .map(|sentinel| client(&connection_info(sentinel)?, &server, tls).map(Mutex::new))
            .collect::<RedisResult<_>>()?;
        if clients.is_empty() {
            return Err(unfit("expected the address of a Sentinel"));
        }
        Ok(Self(clients))
    }

    /// What the first of them says that has found the primary; where none has, what the last said.
    pub(crate) async fn primary(&self) -> RedisResult<Client> {
        let ask =
            async |client: &Mutex<SentinelClient>| client.lock().await.async_get_client().await;
        let mut asked: Vec<_> = self.0.iter().map(|client| Box::pin(ask(client))).collect();
        let mut answer = Err(unfit("expected the address of a Sentinel"));
        poll_fn(|context| {
            asked.retain_mut(|asked| match asked.as_mut().poll(context) {
                Poll::Pending => true,
                Poll::Ready(_) if answer.is_ok() => false,
                Poll::Ready(told) => {
                    answer = told;
                    false
                }
            });
            if answer.is_ok() || asked.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        answer
    }
}

fn unfit(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::InvalidClientConfig, what))
}

fn client(
    sentinel: &ConnectionInfo,
    server: &ConnectionInfo,
    tls: &Tls,
) -> RedisResult<SentinelClient> {
    let secure = |addr: &ConnectionAddr| matches!(addr, ConnectionAddr::TcpTls { .. });
    let name = match server.addr() {
        ConnectionAddr::Tcp(name, _) | ConnectionAddr::TcpTls { host: name, .. } => name,
        _ => return Err(unfit("expected redis://name-of-the-primary")),
    };
    let address = [sentinel.addr().clone()];
    let mut builder = SentinelClientBuilder::new(address, name, SentinelServerType::Master)?
        .set_client_to_redis_db(server.redis_settings().db())
        .set_client_to_redis_protocol(server.redis_settings().protocol())
        .set_client_to_redis_tcp_settings(server.tcp_settings().clone())
        .set_client_to_sentinel_tcp_settings(sentinel.tcp_settings().clone());
    if let Some(user) = server.redis_settings().username() {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = server.redis_settings().password() {
        builder = builder.set_client_to_redis_password(password);
    }
    if let Some(user) = sentinel.redis_settings().username() {
        builder = builder.set_client_to_sentinel_username(user);
    }
    if let Some(password) = sentinel.redis_settings().password() {
        builder = builder.set_client_to_sentinel_password(password);
    }
    tls.sentinel(builder, secure(sentinel.addr()), secure(server.addr())).build()
}
