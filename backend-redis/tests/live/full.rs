//! A server whose memory is full.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tidelock::{ErrorKind, LockBackend, Release, Renewal, RunState};
use tidelock_redis::RedisBackend;
use tidelock_tests::fleet::Fleet;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};

use tokio::time::{Instant, sleep};

use crate::bench::{TTL, admin, ask, at, begin, finish, granted, history, ms, say};
use crate::fleets::{assert_kept, backends, each_second};

#[tokio::test]
async fn a_full_server_grants_nothing_and_lets_runs_end_with_their_records() {
    let server = RedisServer::start(RedisSettings::new());
    let backend = at(&server.url());
    let mut admin = admin(&server.url()).await;
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    say(&mut admin, "CONFIG SET maxmemory 1").await;

    for second in [1, 2] {
        let error = begin(&backend, &ask("other", second)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable, "{error:?}");
    }
    let renewal = backend.renew(&grant.lease, TTL).await.unwrap().value;
    assert_eq!(renewal, Renewal::Renewed);
    let finished = finish(&backend, &request, &grant.lease).await.unwrap();
    assert_eq!(finished.release, Release::Released);
    assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
    assert_eq!(history(&backend).await[0].state, RunState::Succeeded);

    say(&mut admin, "CONFIG SET maxmemory 0").await;
    granted(&backend, &ask("other", 1)).await;
}

/// Fills a server with what never expires until it has evicted that lock.
async fn fill_until_evicted(admin: &mut MultiplexedConnection, lock: &str) {
    for number in 0..10_000 {
        let mut fill = redis::cmd("SET");
        fill.arg(format!("filler-{number}")).arg("x".repeat(1_000));
        let filled = fill.exec_async(admin).await;
        let there = say(admin, &format!("EXISTS {lock}")).await;
        if !redis::from_redis_value::<bool>(there).unwrap() {
            return;
        }
        assert!(filled.is_ok(), "full, and the lock is still there");
    }
    panic!("the lock is still there");
}

#[tokio::test]
async fn a_lock_that_was_evicted_is_lost_and_its_tick_is_not_run_again() {
    let settings =
        RedisSettings::new().with("maxmemory", "3mb").with("maxmemory-policy", "volatile-lru");
    let server = RedisServer::start(settings);
    let name = namespace();
    let backend = RedisBackend::builder(&name).connect(&server.url()).await.unwrap();
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    let mut admin = admin(&server.url()).await;
    fill_until_evicted(&mut admin, &format!("tidelock:{{{name}:job}}:lock")).await;
    let renewal = backend.renew(&grant.lease, TTL).await.unwrap().value;
    assert_eq!(renewal, Renewal::Lost);
    say(&mut admin, "FLUSHALL ASYNC").await;
}

/// Field report BR-063.
#[tokio::test]
async fn a_run_whose_lock_was_evicted_ends_as_lost_and_its_tick_is_not_run_again() {
    let settings =
        RedisSettings::new().with("maxmemory", "3mb").with("maxmemory-policy", "volatile-lru");
    let server = RedisServer::start(settings);
    let name = namespace();
    let fleet = Fleet::start(backends(&server.url(), &name, 2), |seen| {
        vec![each_second(seen, "long", Duration::from_secs(60), ms(2_000))]
    })
    .await;
    fleet.seen.wait_for("long", 1).await;
    let mut admin = admin(&server.url()).await;
    fill_until_evicted(&mut admin, &format!("tidelock:{{{name}:long}}:lock")).await;
    let first = fleet.seen.of("long")[0].clone();
    let told = async || {
        let records = fleet.nodes[0].control().history("long", 100).await.unwrap();
        records.iter().any(|r| r.run_id == first.run_id && r.state == RunState::LockLost)
    };
    let begun = Instant::now();
    while !told().await {
        assert!(begun.elapsed() < Duration::from_secs(5), "its record does not say so");
        sleep(ms(50)).await;
    }
    fleet.shutdown(ms(100)).await.assert_once_and_apart();
}

#[tokio::test]
async fn a_full_server_runs_nothing_until_there_is_room_and_then_tells_of_what_did_not_run() {
    let server = RedisServer::start(RedisSettings::new());
    let name = namespace();
    let fleet = Fleet::start(backends(&server.url(), &name, 2), |seen| {
        let long = each_second(seen, "long", ms(4_500), ms(1_500));
        vec![each_second(seen, "quick", ms(20), ms(1_500)), long]
    })
    .await;
    fleet.seen.wait_for("long", 1).await;
    let mut admin = admin(&server.url()).await;
    say(&mut admin, "CONFIG SET maxmemory 1").await;
    sleep(ms(200)).await;
    let before = fleet.seen.of("quick").len();
    sleep(ms(3_000)).await;
    assert_eq!(fleet.seen.of("quick").len(), before, "granted by a full server");
    say(&mut admin, "CONFIG SET maxmemory 0").await;
    fleet.seen.wait_for("quick", before + 2).await;
    let long = fleet.seen.of("long")[0].clone();
    let seen = fleet.shutdown(ms(6_000)).await;
    assert_kept(&seen, &server.url(), &name, &["quick"]).await;
    // The run that was under way renewed its lock meanwhile, and ended well.
    let ended = long.ended.or(seen.of("long")[0].ended).unwrap();
    assert!(ended - long.at >= ms(4_500), "stopped after {:?}", ended - long.at);
}
