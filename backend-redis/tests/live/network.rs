//! Connections that break, and answers that never come.

use std::time::Duration;

use tidelock::{
    Acquisition, Clear, ErrorKind, LockBackend, LockKey, RecordQuery, RecordStore, Release,
    Renewal, RunState,
};
use tidelock_tests::servers::{Proxy, RedisServer, RedisSettings, Way, namespace};
use tokio::time::Instant;

use crate::bench::{
    TTL, admin, ask, assert_taken, at, begin, finish, fresh, granted, history, job, ms, record, say,
};

/// Every operation once, each after something was done to its connection.
macro_rules! each_operation {
    ($backend:ident, $before:expr) => {{
        let (first, second) = (ask("job", 1), ask("job", 2));
        let key = LockKey::of(&job("job"));
        $before;
        let Acquisition::Granted(grant) = $backend.acquire(&first).await.unwrap().value else {
            panic!("not granted");
        };
        $before;
        let renewal = $backend.renew(&grant.lease, TTL).await.unwrap().value;
        assert_eq!(renewal, Renewal::Renewed);
        $before;
        let state = $backend.inspect(&key).await.unwrap().value;
        assert_eq!(state.token, Some(grant.lease.token));
        $before;
        let _ = $backend.release(&grant.lease).await.unwrap();
        assert!(!crate::bench::held(&$backend).await);
        $before;
        let grant = granted(&$backend, &second).await;
        $before;
        let finished = finish(&$backend, &second, &grant.lease).await.unwrap();
        assert!(finished.unsaved.is_none());
        $before;
        let third = record(&ask("job", 3), RunState::Failed);
        $backend.save(&third).await.unwrap();
        $before;
        let query = RecordQuery::newest(job("job"), 10);
        assert_eq!($backend.list(&query).await.unwrap().len(), 2);
        $before;
        let freed = $backend.force_release(&key, Clear::Lock).await.unwrap();
        assert_eq!(freed.value, Release::NotHeld);
        assert_taken(&$backend, 2).await;
    }};
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_is_told_them_again() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    let backend = at(&server.url());
    each_operation!(backend, say(&mut admin, "SCRIPT FLUSH").await);
}

#[tokio::test]
async fn a_killed_connection_costs_no_operation() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    let backend = at(&server.url());
    each_operation!(backend, say(&mut admin, "CLIENT KILL TYPE normal SKIPME yes").await);
}

#[tokio::test]
async fn a_reply_that_is_cut_off_after_the_work_was_done_costs_no_operation() {
    let proxy = Proxy::to(RedisServer::shared_here().address()).await;
    let backend = at(&proxy.url());
    let _ = begin(&backend, &ask("other", 1)).await.unwrap();
    each_operation!(backend, proxy.cut_replies(1));
}

#[tokio::test]
async fn an_answer_that_was_lost_twice_is_found_out_by_asking_again() {
    let proxy = Proxy::to(RedisServer::shared_here().address()).await;
    let backend = at(&proxy.url());
    let request = ask("job", 1);
    let _ = begin(&backend, &ask("other", 1)).await.unwrap();
    // The reply, and the first of the next connection.
    proxy.cut_replies(2);
    let error = begin(&backend, &request).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert_taken(&backend, 1).await;
    let grant = granted(&backend, &request).await;
    proxy.cut_replies(2);
    let error = finish(&backend, &request, &grant.lease).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    let again = finish(&backend, &request, &grant.lease).await.unwrap();
    assert!(again.unsaved.is_none());
    let history = history(&backend).await;
    assert_eq!((history.len(), history[0].state), (1, RunState::Succeeded));
}

#[tokio::test]
async fn a_silent_server_holds_no_call_past_its_deadline() {
    let proxy = Proxy::to(RedisServer::shared_here().address()).await;
    let backend = fresh().operation_timeout(ms(300)).connect_lazy(&proxy.url()).unwrap();
    let grant = granted(&backend, &ask("job", 1)).await;
    proxy.set(Way::Silent);
    for _ in 0..5 {
        let asked = Instant::now();
        let error = begin(&backend, &ask("job", 2)).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?}");
        assert!(asked.elapsed() < ms(1_500), "{:?}", asked.elapsed());
    }
    // A short lock has a shorter bound: its renewal is of no use later.
    let asked = Instant::now();
    let renewal = backend.renew(&grant.lease, ms(400)).await;
    assert_eq!(renewal.unwrap_err().kind, ErrorKind::Timeout);
    assert!(asked.elapsed() < ms(1_000));
    // The connection of then is dead for good: what was sent on it is lost. A new one is not.
    proxy.set(Way::Open);
    let mut answer = begin(&backend, &ask("job", 2)).await;
    for _ in 0..3 {
        if answer.is_ok() {
            break;
        }
        answer = begin(&backend, &ask("job", 2)).await;
    }
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_never_answered_is_no_success() {
    let proxy = Proxy::to(RedisServer::shared_here().address()).await;
    proxy.set(Way::Silent);
    let asked = Instant::now();
    let error = fresh().connect(&proxy.url()).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(asked.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn nobody_listening_is_told_at_once() {
    let asked = Instant::now();
    let error = fresh().connect("redis://127.0.0.1:1").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(asked.elapsed() < ms(500), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn a_primary_that_became_a_replica_is_left_for_where_its_name_leads() {
    let old = RedisServer::start(RedisSettings::new());
    let new = RedisServer::start(RedisSettings::new());
    let name = Proxy::to(old.address()).await;
    let backend = at(&name.url());
    granted(&backend, &ask("job", 1)).await;
    let mut admin = admin(&old.url()).await;
    say(&mut admin, &format!("REPLICAOF 127.0.0.1 {}", new.address().port())).await;
    // Its word inside a script is READONLY, too.
    let asked = Instant::now();
    let error = begin(&backend, &ask("other", 1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error:?}");
    assert!(asked.elapsed() < Duration::from_secs(2));
    // A name that leads elsewhere for new connections is enough: the old one is let go.
    name.lead_next_to(new.address());
    granted(&backend, &ask("other", 1)).await;
}

#[tokio::test]
async fn many_backends_share_a_server_and_keep_apart() {
    let url = RedisServer::shared_here().url();
    let one = tidelock_redis::RedisBackend::builder(format!("{}:b", namespace()));
    let (one, two) = (one.connect_lazy(&url).unwrap(), at(&url));
    granted(&one, &ask("job", 1)).await;
    granted(&two, &ask("job", 1)).await;
    assert_taken(&one, 1).await;
}
