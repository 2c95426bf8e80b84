//! Servers that are killed, frozen and started again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidelock::{Acquisition, Clear, Job, LockBackend, LockKey, Release, RunState, Scheduler};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::{Instant, sleep};

use crate::bench::{ask, assert_taken, at, begin, finish, granted, history, job, ms};

#[tokio::test]
async fn what_was_acknowledged_outlives_a_killed_server() {
    let server = RedisServer::start(RedisSettings::new().durable());
    let backend = at(&server.url());
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    server.kill();
    let asked = Instant::now();
    let error = begin(&backend, &ask("job", 2)).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(asked.elapsed() < ms(500), "{:?}", asked.elapsed());
    server.restart();
    // The first call after it is back is answered.
    assert_taken(&backend, 1).await;
    let again = granted(&backend, &request).await;
    assert_eq!(again.lease, grant.lease);
    server.kill();
    server.restart();
    let finished = finish(&backend, &request, &grant.lease).await.unwrap();
    assert_eq!(finished.release, Release::Released);
    server.kill();
    server.restart();
    assert_taken(&backend, 1).await;
    assert_eq!(history(&backend).await[0].state, RunState::Succeeded);
    let next = granted(&backend, &ask("job", 2)).await;
    assert!(next.lease.token > grant.lease.token);
}

#[tokio::test]
async fn what_the_disk_had_not_yet_when_the_power_failed_can_run_again() {
    // As with `appendfsync everysec`: the last second is acknowledged and not on the disk.
    let server = RedisServer::start(RedisSettings::new().durable());
    let backend = at(&server.url());
    granted(&backend, &ask("job", 1)).await;
    let (key, clear) = (LockKey::of(&job("job")), Clear::Lock);
    let _ = backend.force_release(&key, clear).await.unwrap();
    let on_the_disk = server.written();
    let lost = granted(&backend, &ask("job", 2)).await;
    server.kill();
    server.lose_after(on_the_disk);
    server.restart();
    assert_taken(&backend, 1).await;
    let again = granted(&backend, &ask("job", 2)).await;
    assert!(again.lease.token > lost.lease.token, "the token tells them apart");
}

#[tokio::test]
async fn a_server_that_forgets_grants_larger_tokens_all_the_same() {
    let server = RedisServer::start(RedisSettings::new());
    let backend = at(&server.url());
    let before = granted(&backend, &ask("job", 1)).await.lease.token;
    server.kill();
    server.restart();
    let after = granted(&backend, &ask("job", 1)).await.lease.token;
    assert!(after > before, "{before} {after}");
}

#[tokio::test]
async fn a_frozen_server_has_done_what_it_did_not_answer() {
    let server = RedisServer::start(RedisSettings::new());
    let backend = at(&server.url());
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
    let answer = begin(&backend, &request).await.unwrap();
    assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
    assert_taken(&backend, 1).await;
    assert_eq!(history(&backend).await.len(), 1);
}

/// A node whose job runs each second and takes that long; and how often it was called.
async fn node(
    url: &str,
    name: &str,
    takes: Duration,
    ttl: Duration,
) -> (Scheduler, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let slow = Job::new("job").cron("*/5 * * * * *").unwrap().lock_ttl(ttl).run(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        sleep(takes)
    });
    let backend = RedisBackend::builder(name).connect(url).await.unwrap();
    let node = Scheduler::builder(backend).job(slow).unwrap();
    (node.start().await.unwrap(), calls)
}

async fn started(calls: &AtomicUsize) {
    let waiting = Instant::now();
    while calls.load(Ordering::SeqCst) == 0 {
        assert!(waiting.elapsed() < Duration::from_secs(20), "nothing runs");
        sleep(ms(5)).await;
    }
}

#[tokio::test]
async fn a_server_away_for_less_than_the_ttl_costs_a_run_nothing() {
    let server = RedisServer::start(RedisSettings::new().durable());
    let name = namespace();
    let ttl = Duration::from_secs(6);
    let (node, calls) = node(&server.url(), &name, ms(2_000), ttl).await;
    started(&calls).await;
    server.kill();
    sleep(ms(1_000)).await;
    server.restart();
    sleep(ms(2_000)).await;
    let _ = node.shutdown(Duration::from_secs(5)).await;
    let backend = RedisBackend::builder(&name).connect_lazy(&server.url()).unwrap();
    let records = history(&backend).await;
    assert!(!records.is_empty());
    assert!(records.iter().all(|r| r.state == RunState::Succeeded), "{records:#?}");
}

#[tokio::test]
async fn a_server_away_for_longer_than_the_ttl_costs_the_lock_and_no_record() {
    let server = RedisServer::start(RedisSettings::new().durable());
    let name = namespace();
    let (node, calls) = node(&server.url(), &name, Duration::from_secs(60), ms(1_500)).await;
    started(&calls).await;
    server.kill();
    sleep(ms(2_500)).await;
    server.restart();
    let backend = RedisBackend::builder(&name).connect_lazy(&server.url()).unwrap();
    let back = Instant::now();
    let lost = loop {
        let records = history(&backend).await;
        if let Some(lost) = records.iter().find(|r| r.state == RunState::LockLost) {
            break lost.clone();
        }
        assert!(back.elapsed() < Duration::from_secs(20), "{records:#?}");
        sleep(ms(50)).await;
    };
    // Its tick stays taken.
    let mut request = ask("job", 1);
    request.occurrence = lost.occurrence;
    let answer = begin(&backend, &request).await.unwrap();
    assert!(matches!(answer, Acquisition::AlreadyTaken(_)), "{answer:?}");
    let _ = node.shutdown(ms(100)).await;
}
