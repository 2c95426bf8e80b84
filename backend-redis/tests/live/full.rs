//! A server whose memory is full.

use tidelock::{ErrorKind, LockBackend, Release, Renewal, RunState};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};

use crate::bench::{TTL, admin, ask, at, begin, finish, granted, history, say};

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
    let lock = format!("tidelock:{{{name}:job}}:lock");
    for number in 0..10_000 {
        let filled: Result<(), _> = redis::cmd("SET")
            .arg(format!("filler-{number}"))
            .arg("x".repeat(1_000))
            .query_async(&mut admin)
            .await;
        let there: bool =
            redis::from_redis_value(say(&mut admin, &format!("EXISTS {lock}")).await).unwrap();
        if !there {
            break;
        }
        assert!(filled.is_ok(), "full, and the lock is still there");
    }
    let renewal = backend.renew(&grant.lease, TTL).await.unwrap().value;
    assert_eq!(renewal, Renewal::Lost);
    say(&mut admin, "FLUSHALL ASYNC").await;
}
