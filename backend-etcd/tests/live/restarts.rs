//! A server that is killed, frozen and started again.

use std::time::Duration;

use tidelock::{Acquisition, RecordQuery, RecordStore, Release, RunState};
use tidelock_tests::servers::{EtcdServer, EtcdSettings, namespace};
use tokio::time::{Instant, sleep};

use crate::bench::{
    PATIENCE, Seen, ask, assert_taken, at, begin, finish, granted, history, job, ms, named, node,
    shut_down, until_told,
};

#[tokio::test]
async fn what_was_acknowledged_outlives_a_killed_server() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = at(&server.endpoints());
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    server.kill();
    let asked = Instant::now();
    let error = begin(&backend, &ask("job", 2)).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(asked.elapsed() < ms(1_500), "{:?}", asked.elapsed());
    server.restart();
    let Acquisition::Granted(again) = until_told(|| begin(&backend, &request)).await else {
        panic!("not granted again");
    };
    assert_eq!(again.lease, grant.lease);
    assert_taken(&backend, 1).await;
    server.kill();
    server.restart();
    let finished = until_told(|| finish(&backend, &request, &grant.lease)).await;
    assert_eq!(finished.release, Release::Released);
    server.kill();
    server.restart();
    let all = RecordQuery::newest(job("job"), 10);
    assert_eq!(until_told(|| backend.list(&all)).await[0].state, RunState::Succeeded);
    assert_taken(&backend, 1).await;
    let next = granted(&backend, &ask("job", 2)).await;
    assert!(next.lease.token > grant.lease.token);
}

#[tokio::test]
async fn a_frozen_server_has_done_what_it_did_not_answer() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = at(&server.endpoints());
    granted(&backend, &ask("other", 1)).await;
    let request = ask("job", 1);
    server.freeze();
    let frozen = Instant::now();
    while frozen.elapsed() < Duration::from_secs(3) {
        let asked = Instant::now();
        let error = begin(&backend, &request).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?}");
        assert!(asked.elapsed() < ms(1_500), "{:?}", asked.elapsed());
    }
    server.thaw();
    let answer = until_told(|| begin(&backend, &request)).await;
    assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
    assert_taken(&backend, 1).await;
    assert_eq!(history(&backend).await.len(), 1);
}

/// Field report BR-056, the short time: killed, then frozen.
#[tokio::test]
async fn a_server_away_for_less_than_the_ttl_costs_a_run_nothing() {
    let server = EtcdServer::start(EtcdSettings::new());
    let (name, seen) = (namespace(), Seen::default());
    let work = seen.job("job", "*/2 * * * * *", Duration::from_secs(6), ms(3_000));
    let node = node(named(&name, &server.endpoints()), [work]).await;
    seen.next("job", 1, PATIENCE).await;
    server.kill();
    sleep(ms(1_000)).await;
    server.restart();
    seen.next("job", 1, PATIENCE).await;
    server.freeze();
    sleep(ms(1_500)).await;
    server.thaw();
    shut_down([node]).await;
    seen.assert_once_and_apart();
    let states = seen.states(&named(&name, &server.endpoints()), "job").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
}

/// Field report BR-056, the long time.
#[tokio::test]
async fn a_server_away_for_longer_than_the_ttl_costs_the_lock_and_no_record() {
    let server = EtcdServer::start(EtcdSettings::new());
    let (name, seen) = (namespace(), Seen::default());
    let ttl = Duration::from_secs(3);
    let work = seen.job("job", "* * * * * *", ttl, Duration::from_secs(60));
    let node = node(named(&name, &server.endpoints()), [work]).await;
    let first = seen.next("job", 1, PATIENCE).await;
    sleep(ms(1_500)).await;
    server.kill();
    let killed = Instant::now();
    sleep(ms(4_000)).await;
    let dropped = seen.of("job")[0].ended.expect("dropped by the node's own clock");
    assert!(dropped - killed < ttl, "{:?}", dropped - killed);
    server.restart();
    let second = seen.next("job", 1, PATIENCE).await;
    assert_ne!(first.tick, second.tick);
    let _ = node.shutdown(ms(100)).await;
    seen.assert_once_and_apart();
    let states = seen.states(&named(&name, &server.endpoints()), "job").await;
    assert_eq!(states, [RunState::LockLost, RunState::Cancelled]);
}

/// The lease of a lock begins its life anew when a server starts: the node goes on to release it.
#[tokio::test]
async fn a_lock_whose_run_ended_while_the_server_was_away_is_free_soon_after_it_is_back() {
    let server = EtcdServer::start(EtcdSettings::new());
    let (name, seen) = (namespace(), Seen::default());
    let (ttl, takes) = (Duration::from_secs(8), ms(500));
    let work = seen.job("job", "* * * * * *", ttl, takes);
    let node = node(named(&name, &server.endpoints()), [work]).await;
    seen.next("job", 1, PATIENCE).await;
    server.kill();
    sleep(ttl + ms(2_500)).await; // by its own time, the node's lock has expired
    server.restart();
    let back = Instant::now();
    seen.next("job", 1, PATIENCE).await;
    assert!(back.elapsed() < ttl / 2, "{:?}", back.elapsed());
    shut_down([node]).await;
    seen.assert_once_and_apart();
}
