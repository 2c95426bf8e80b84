//! Sentinels that are silent or gone.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use tidelock::{JobId, LockBackend, LockKey};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::Instant;

fn sentinel_of(primary: &RedisServer) -> RedisServer {
    let port = primary.address().port();
    let monitor = format!("sentinel monitor main 127.0.0.1 {port} 1\n");
    RedisServer::start(RedisSettings::new().sentinel(&monitor))
}

/// An address that answers no attempt to connect, as that of a machine that has gone: a listener
/// whose queue is full.
struct Nowhere {
    address: SocketAddr,
    _listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl Nowhere {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut queue = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            queue.push(stream);
        }
        Self { address, _listener: listener, _queue: queue }
    }
}

#[tokio::test]
async fn a_sentinel_that_is_silent_or_gone_hides_no_primary() {
    let primary = RedisServer::start(RedisSettings::new());
    let (silent, good) = (sentinel_of(&primary), sentinel_of(&primary));
    let nowhere = Nowhere::new();
    silent.freeze();
    let gone = format!("redis://{}", nowhere.address);
    for first in [silent.url(), gone] {
        let asked = Instant::now();
        let builder = RedisBackend::builder(namespace());
        let sentinels = [first, good.url()];
        let backend = builder.connect_sentinel(sentinels, "redis://main/0").await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
        let key = LockKey::of(&JobId::new("job").unwrap());
        let _ = backend.inspect(&key).await.unwrap();
        primary.kill();
        assert!(backend.inspect(&key).await.unwrap_err().is_retryable());
        primary.restart();
        let back = Instant::now();
        while let Err(error) = backend.inspect(&key).await {
            assert!(back.elapsed() < Duration::from_secs(6), "{error:?}");
        }
    }
}
