//! Sentinels that name a primary.

use std::time::Duration;

use tidelock::Acquisition;
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::{Instant, sleep};

use crate::bench::{assert_runs, begin};
use crate::secure::Secure;

#[tokio::test]
async fn sentinels_lead_to_the_primary_and_to_its_successor() {
    let primary = RedisServer::start(RedisSettings::new());
    let port = primary.address().port().to_string();
    let settings = RedisSettings::new().with("replicaof", &format!("127.0.0.1 {port}"));
    let _replica = RedisServer::start(settings);
    let sentinel = RedisServer::start(RedisSettings::new().sentinel(&format!(
        "sentinel monitor main 127.0.0.1 {port} 1\n\
         sentinel down-after-milliseconds main 1000\n\
         sentinel failover-timeout main 4000\n"
    )));
    let backend = RedisBackend::builder(namespace())
        .connect_sentinel([sentinel.url()], "redis://main/0")
        .await
        .unwrap();
    assert_runs(&backend, 1).await;
    // The Sentinel has to find the replica before it can make it the successor.
    sleep(Duration::from_secs(12)).await;
    primary.kill();
    let died = Instant::now();
    while let Err(error) = begin(&backend, 2).await {
        assert!(error.is_retryable(), "{error:?}");
        assert!(died.elapsed() < Duration::from_secs(60), "{error:?}");
        sleep(Duration::from_millis(100)).await;
    }
    assert!(matches!(begin(&backend, 1).await.unwrap(), Acquisition::AlreadyTaken(_)));
}

#[tokio::test]
async fn sentinels_and_the_primary_over_tls() {
    let primary = Secure::new();
    let _server = RedisServer::start(primary.settings().with("tls-replication", "yes"));
    let sentinel = primary.another();
    let lines = sentinel.lines().map(|(name, value)| format!("{name} {value}\n")).concat();
    let monitor = format!("sentinel monitor main 127.0.0.1 {} 1\n", primary.port);
    let conf = format!("tls-replication yes\n{lines}{monitor}");
    let _sentinel = RedisServer::start(RedisSettings::new().sentinel(&conf));
    let client = primary.client();
    let backend = client.connect_sentinel([sentinel.url()], "rediss://main/0").await.unwrap();
    assert_runs(&backend, 1).await;
    assert!(!format!("{backend:?}").contains("KEY"));
}
