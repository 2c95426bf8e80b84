//! What preflight finds.

use tidelock::{ErrorKind, LockBackend, LockKey};
use tidelock_redis::Severity;
use tidelock_tests::servers::{Proxy, RedisServer, RedisSettings, Way};

use crate::bench::{admin, ask, at, fresh, granted, job, ms, say};

#[tokio::test]
async fn a_plain_server_is_taken_with_a_word_about_restarts() {
    let found = at(&RedisServer::shared_here().url()).preflight().await.unwrap();
    found.check().unwrap();
    assert!(found.version.is_some_and(|version| version.contains('.')));
    assert!(!found.round_trip.is_zero());
}

#[tokio::test]
async fn a_durable_server_alone_has_no_warnings() {
    let server = RedisServer::start(RedisSettings::new().durable());
    let found = at(&server.url()).preflight().await.unwrap();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[tokio::test]
async fn a_server_that_may_evict_marks_is_refused_unless_allowed() {
    let settings = RedisSettings::new().with("maxmemory-policy", "allkeys-lru");
    let server = RedisServer::start(settings);
    let error = fresh().connect(&server.url()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Misconfigured);
    let allowed = fresh().allow_eviction().connect(&server.url()).await.unwrap();
    let found = allowed.preflight().await.unwrap();
    let eviction = found.findings.iter().find(|f| f.topic == "eviction");
    assert_eq!(eviction.unwrap().severity, Severity::Warning);

    let mut admin = admin(&server.url()).await;
    say(&mut admin, "CONFIG SET maxmemory-policy volatile-ttl").await;
    let backend = fresh().connect(&server.url()).await.unwrap();
    let found = backend.preflight().await.unwrap();
    let eviction = found.findings.iter().find(|f| f.topic == "eviction");
    assert_eq!(eviction.unwrap().severity, Severity::Warning);
}

#[tokio::test]
async fn what_may_not_be_looked_at_is_a_note() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    say(&mut admin, "ACL SETUSER shy on >pw ~* +@all -info -script").await;
    let url = server.url().replace("redis://", "redis://shy:pw@");
    let backend = fresh().connect(&url).await.unwrap();
    let found = backend.preflight().await.unwrap();
    assert!(found.findings.iter().all(|f| f.severity == Severity::Note));
    assert_eq!(found.findings.len(), 2, "{:?}", found.findings);
    granted(&backend, &ask("job", 1)).await;
}

#[tokio::test]
async fn preflight_leaves_nothing_behind() {
    use tidelock::LockBackend;
    let server = RedisServer::start(RedisSettings::new());
    let backend = fresh().connect(&server.url()).await.unwrap();
    let state = backend.inspect(&LockKey::of(&job("job"))).await.unwrap();
    assert_eq!(state.value, tidelock::LockState::default());
    let mut admin = admin(&server.url()).await;
    let keys: i64 = redis::from_redis_value(say(&mut admin, "DBSIZE").await).unwrap();
    assert_eq!(keys, 0);
}

#[tokio::test]
async fn a_server_far_away_is_judged_against_what_a_lock_has_time_for() {
    let proxy = Proxy::to(RedisServer::shared_here().address()).await;
    let backend = fresh().connect(&proxy.url()).await.unwrap();
    let near = backend.preflight().await.unwrap();
    assert!(near.findings.iter().all(|f| f.topic != "round-trip"), "{:?}", near.findings);
    proxy.set(Way::Slow(ms(150)));
    let far = backend.preflight().await.unwrap();
    let warning = far.findings.iter().find(|f| f.topic == "round-trip").unwrap();
    assert_eq!(warning.severity, Severity::Warning);
    assert!(far.shortest_ttl() >= ms(300) * 60, "{:?}", far.shortest_ttl());
    assert!(warning.text.contains(&format!("{:?}", far.shortest_ttl())), "{warning}");
}

#[tokio::test]
async fn clients_and_connections_of_the_application_serve_as_well() {
    let url = RedisServer::shared_here().url();
    let client = redis::Client::open(url.as_str()).unwrap();
    let over_client = fresh().from_client(client.clone()).unwrap();
    granted(&over_client, &ask("job", 1)).await;
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let over_connection = fresh().from_connection(connection).unwrap();
    over_connection.preflight().await.unwrap();
    granted(&over_connection, &ask("job", 1)).await;
}

#[tokio::test]
async fn what_a_user_may_not_do_is_told_before_a_tick_is_due() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    say(&mut admin, "ACL SETUSER weak on >pw ~* +@all -hset -zadd").await;
    let url = server.url().replace("redis://", "redis://weak:pw@");
    let error = fresh().connect(&url).await.unwrap_err();
    assert!(!error.is_retryable());
    let told = error.to_string();
    assert!(told.starts_with("redis connect: misconfigured: 127.0.0.1:"), "{told}");
    assert!(told.contains("may not use hset, zadd"), "{told}");
    assert!(!told.contains("pw@"), "{told}");
    // Nor may it wait for replicas, where that is asked for; of which there are too few as well.
    say(&mut admin, "ACL SETUSER weak +@all -wait").await;
    let waiting = fresh().wait_replicas(1, ms(100)).connect_lazy(&url).unwrap();
    let found = waiting.preflight().await.unwrap();
    let told: Vec<_> = found.findings.iter().map(|f| (f.severity, f.topic)).collect();
    assert!(told.contains(&(Severity::Error, "permissions")), "{:?}", found.findings);
    assert!(told.contains(&(Severity::Warning, "replicas")), "{:?}", found.findings);
    let keys: i64 = redis::from_redis_value(say(&mut admin, "DBSIZE").await).unwrap();
    assert_eq!(keys, 0);
}

#[tokio::test]
async fn a_replica_is_refused_with_a_word_about_where_to_go() {
    let primary = RedisServer::start(RedisSettings::new());
    let of = format!("127.0.0.1 {}", primary.address().port());
    let replica = RedisServer::start(RedisSettings::new().with("replicaof", &of));
    let told = fresh().connect(&replica.url()).await.unwrap_err().to_string();
    assert!(told.contains("read-only replica: connect to its primary"), "{told}");
}

/// A job may have any name, that of the look as well.
#[tokio::test]
async fn a_look_at_the_server_takes_no_jobs_lock() {
    let backend = at(&RedisServer::shared_here().url());
    let grant = granted(&backend, &ask("preflight", 1)).await;
    let _ = backend.preflight().await.unwrap();
    let state = backend.inspect(&LockKey::of(&job("preflight"))).await.unwrap().value;
    assert_eq!(state.held.map(|held| held.holder), Some(grant.lease.holder));
}
