//! What the tests share: short words for requests, and for the server's own side.

use redis::aio::MultiplexedConnection;
use tidelock_redis::{RedisBackend, RedisBackendBuilder};
use tidelock_tests::servers::namespace;

pub(crate) use tidelock_tests::live::{
    TTL, ask, assert_taken, begin, finish, granted, held, history, job, ms, record,
};

/// A builder with a fresh namespace.
pub(crate) fn fresh() -> RedisBackendBuilder {
    RedisBackend::builder(namespace())
}

pub(crate) fn at(url: &str) -> RedisBackend {
    fresh().connect_lazy(url).unwrap()
}

/// A connection of the test's own.
pub(crate) async fn admin(url: &str) -> MultiplexedConnection {
    let client = redis::Client::open(url).unwrap();
    // A busy machine is no failure.
    let patient = redis::AsyncConnectionConfig::new().set_response_timeout(Some(ms(10_000)));
    client.get_multiplexed_async_connection_with_config(&patient).await.unwrap()
}

/// Sends a command of the test's own, given as words.
pub(crate) async fn say(connection: &mut MultiplexedConnection, words: &str) -> redis::Value {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    command.query_async(connection).await.unwrap()
}
