//! Locks in etcd with records in Redis, and the other way round.

use std::time::Duration;

use tidelock::{LockBackend, RecordStore, RunState, Scheduler};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{EtcdServer, EtcdSettings, RedisServer, RedisSettings, namespace};
use tokio::time::sleep;

use crate::bench::{PATIENCE, Seen, at, held, history, ms, shut_down};

fn in_redis(server: &RedisServer) -> RedisBackend {
    RedisBackend::builder(namespace()).connect_lazy(&server.url()).unwrap()
}

/// Two nodes with a job of each second over these.
async fn nodes(
    seen: &Seen,
    locks: &(impl LockBackend + Clone),
    records: &(impl RecordStore + Clone),
) -> [Scheduler; 2] {
    let start = async || {
        let job = seen.job("job", "* * * * * *", Duration::from_secs(6), ms(200));
        let node = Scheduler::combined(locks.clone(), records.clone());
        node.job(job).unwrap().start().await.unwrap()
    };
    [start().await, start().await]
}

#[tokio::test]
async fn locks_in_etcd_and_records_in_redis_go_together() {
    let locks = at(&EtcdServer::shared().endpoints());
    let records = in_redis(RedisServer::shared());
    let seen = Seen::default();
    let nodes = nodes(&seen, &locks, &records).await;
    seen.next("job", 3, PATIENCE).await;
    sleep(ms(400)).await;
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    let states = seen.states(&records, "job").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    assert!(!held(&locks).await);
    assert!(history(&locks).await.is_empty(), "records in both");
}

#[tokio::test]
async fn locks_in_redis_and_records_in_etcd_go_together() {
    let locks = in_redis(RedisServer::shared());
    let records = at(&EtcdServer::shared().endpoints());
    let seen = Seen::default();
    let nodes = nodes(&seen, &locks, &records).await;
    seen.next("job", 3, PATIENCE).await;
    sleep(ms(400)).await;
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    let states = seen.states(&records, "job").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    assert!(!held(&locks).await);
    assert!(history(&locks).await.is_empty(), "records in both");
}

#[tokio::test]
async fn a_store_of_records_that_is_away_stops_no_run_and_has_them_all_later() {
    let (etcd, redis) = (EtcdServer::shared(), RedisServer::start(RedisSettings::new().durable()));
    let (locks, records) = (at(&etcd.endpoints()), in_redis(&redis));
    let seen = Seen::default();
    let nodes = nodes(&seen, &locks, &records).await;
    seen.next("job", 1, PATIENCE).await;
    redis.kill();
    seen.next("job", 3, PATIENCE).await;
    redis.restart();
    seen.next("job", 1, PATIENCE).await;
    sleep(ms(1_500)).await;
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    let states = seen.states(&records, "job").await;
    assert!(states.len() >= 5, "{states:?}");
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
}

#[tokio::test]
async fn without_the_server_of_the_locks_nothing_runs() {
    let (etcd, redis) = (EtcdServer::start(EtcdSettings::new()), RedisServer::shared());
    let (locks, records) = (at(&etcd.endpoints()), in_redis(redis));
    let seen = Seen::default();
    let nodes = nodes(&seen, &locks, &records).await;
    seen.next("job", 2, PATIENCE).await;
    sleep(ms(400)).await;
    etcd.kill();
    let ran = seen.of("job").len();
    sleep(ms(2_500)).await;
    assert_eq!(seen.of("job").len(), ran);
    etcd.restart();
    seen.next("job", 2, PATIENCE).await;
    sleep(ms(400)).await;
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    let states = seen.states(&records, "job").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
}
