//! A Cluster of one member, to which all slots belong.

use std::time::Duration;

use tidelock_redis::{RedisBackend, Severity};
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::{Instant, sleep};

use crate::bench::{assert_runs, say};
use crate::secure::Secure;

/// Gives it all slots.
async fn whole(url: &str) {
    // Redis 6.2 takes no ranges.
    let slots: Vec<String> = (0..16_384).map(|slot| slot.to_string()).collect();
    say(url, &format!("CLUSTER ADDSLOTS {}", slots.join(" "))).await.unwrap();
    let begun = Instant::now();
    loop {
        let info = say(url, "CLUSTER INFO").await.unwrap();
        let info: String = redis::from_redis_value(info).unwrap();
        if info.contains("cluster_state:ok") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{info}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_cluster_keeps_the_keys_of_a_job_together() {
    let server = RedisServer::start(RedisSettings::new().with("cluster-enabled", "yes"));
    let url = server.url();
    whole(&url).await;
    let backend = RedisBackend::builder(namespace());
    let backend = backend.connect_cluster([url.clone()]).await.unwrap();
    assert_runs(&backend, 1).await;
    say(&url, "SCRIPT FLUSH").await.unwrap();
    assert_runs(&backend, 2).await;
    // Keys in different places would be refused: the one address of a member serves as well.
    let direct = RedisBackend::builder(namespace());
    assert_runs(&direct.connect(&url).await.unwrap(), 3).await;
}

#[tokio::test]
async fn each_member_of_a_cluster_is_looked_at_beforehand() {
    let settings = RedisSettings::new().with("cluster-enabled", "yes");
    let server = RedisServer::start(settings.with("maxmemory-policy", "volatile-lru"));
    whole(&server.url()).await;
    let backend = RedisBackend::builder(namespace()).connect_cluster([server.url()]).await.unwrap();
    let found = backend.preflight().await.unwrap();
    assert!(found.version.is_some());
    let topics: Vec<_> = found.findings.iter().map(|f| (f.severity, f.topic)).collect();
    let expected = [(Severity::Warning, "eviction"), (Severity::Warning, "persistence")];
    assert_eq!(topics, expected, "{:?}", found.findings);
    say(&server.url(), "CONFIG SET maxmemory-policy allkeys-lru").await.unwrap();
    let refused = RedisBackend::builder(namespace()).connect_cluster([server.url()]).await;
    assert!(!refused.unwrap_err().is_retryable());
}

#[tokio::test]
async fn a_cluster_over_tls() {
    let secure = Secure::new();
    let settings = secure.settings().with("cluster-enabled", "yes").with("tls-cluster", "yes");
    let server = RedisServer::start(settings);
    whole(&server.url()).await;
    let backend = secure.client().connect_cluster([secure.url()]).await.unwrap();
    assert_runs(&backend, 1).await;
    let nobody = RedisBackend::builder(namespace()).connect_cluster([secure.url()]).await;
    assert!(nobody.is_err());
}
