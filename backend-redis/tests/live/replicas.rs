//! Grants that replicas have to acknowledge.

use tidelock::{Acquisition, Job, LockBackend, RunState, Scheduler, SkipReason};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::bench::{admin, ask, begin, finish, fresh, granted, held, history, ms, say};

async fn replica_of(primary: &RedisServer) -> RedisServer {
    let of = format!("127.0.0.1 {}", primary.address().port());
    let replica = RedisServer::start(RedisSettings::new().with("replicaof", &of));
    let mut admin = admin(&replica.url()).await;
    let begun = Instant::now();
    loop {
        let info = say(&mut admin, "INFO replication").await;
        let info: String = redis::from_redis_value(info).unwrap();
        if info.contains("master_link_status:up") {
            return replica;
        }
        assert!(begun.elapsed() < ms(30_000), "{info}");
        sleep(ms(20)).await;
    }
}

#[tokio::test]
async fn a_grant_that_too_few_replicas_have_runs_nowhere() {
    let primary = RedisServer::start(RedisSettings::new());
    let replica = replica_of(&primary).await;
    let name = namespace();
    let backend = RedisBackend::builder(&name)
        .wait_replicas(1, ms(300))
        .operation_timeout(ms(5_000))
        .connect(&primary.url())
        .await
        .unwrap();
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    let finished = finish(&backend, &request, &grant.lease).await.unwrap();
    assert!(finished.unsaved.is_none());

    replica.freeze();
    let request = ask("job", 2);
    let Acquisition::Consumed(skipped) = begin(&backend, &request).await.unwrap() else {
        panic!("not consumed");
    };
    assert_eq!(skipped.reason, SkipReason::Unreplicated);
    assert!(!held(&backend).await);
    let plain = RedisBackend::builder(&name).connect_lazy(&primary.url());
    let other = begin(&plain.unwrap(), &ask("job", 2)).await.unwrap();
    assert!(matches!(other, Acquisition::AlreadyTaken(_)), "{other:?}");
    assert_eq!(history(&backend).await.len(), 1);
    // A manual run has no tick to skip: that is an error, and no lock.
    let mut manual = ask("job", 3);
    manual.occurrence = None;
    assert!(backend.acquire(&manual).await.unwrap_err().is_retryable());
    assert!(!held(&backend).await);

    replica.thaw();
    granted(&backend, &ask("job", 4)).await;
}

#[tokio::test]
async fn a_scheduler_records_why_a_grant_without_replicas_did_not_run() {
    let primary = RedisServer::start(RedisSettings::new());
    let backend = fresh().wait_replicas(1, ms(100)).connect(&primary.url()).await.unwrap();
    let never =
        Job::new("job").cron("* * * * * *").unwrap().run(|_| async { Err::<(), _>("it ran") });
    let node = Scheduler::builder(backend.clone()).job(never).unwrap();
    let node = node.start().await.unwrap();
    sleep(ms(3_500)).await;
    let _ = node.shutdown(ms(1_000)).await;
    let records = history(&backend).await;
    assert_eq!(records.len(), 1, "one reason in a row is one record");
    let state = RunState::Skipped(SkipReason::Unreplicated);
    assert_eq!(records[0].state, state, "{records:?}");
}

#[tokio::test]
async fn a_wait_longer_than_the_scheduler_listens_is_told_of_all_the_same() {
    let primary = RedisServer::start(RedisSettings::new());
    let long = fresh().wait_replicas(1, ms(60_000));
    let backend = long.connect(&primary.url()).await.unwrap();
    let never =
        Job::new("job").cron("*/3 * * * * *").unwrap().run(|_| async { Err::<(), _>("it ran") });
    let node = Scheduler::builder(backend.clone()).job(never).unwrap();
    let node = node.start().await.unwrap();
    let begun = Instant::now();
    while history(&backend).await.is_empty() {
        assert!(begun.elapsed() < ms(10_000));
        sleep(ms(100)).await;
    }
    let _ = node.shutdown(ms(1_000)).await;
    let records = history(&backend).await;
    let state = RunState::Skipped(SkipReason::Unreplicated);
    assert!(records.iter().all(|record| record.state == state), "{records:?}");
    assert!(!held(&backend).await);
}

#[tokio::test]
async fn what_has_no_connections_of_its_own_cannot_wait() {
    let client = redis::Client::open("redis://127.0.0.1:1").unwrap();
    let config = redis::aio::ConnectionManagerConfig::new();
    let manager = redis::aio::ConnectionManager::new_lazy_with_config(client, config).unwrap();
    let refused = fresh().wait_replicas(1, ms(100)).from_connection(manager);
    assert!(!refused.unwrap_err().is_retryable());
}

#[tokio::test]
async fn a_silent_primary_holds_no_call_longer_for_each_connection_that_was_idle() {
    let primary = RedisServer::start(RedisSettings::new());
    let _replica = replica_of(&primary).await;
    let waiting = fresh().operation_timeout(ms(300)).wait_replicas(1, ms(300));
    let backend = waiting.connect(&primary.url()).await.unwrap();
    // As many connections as there were runs at once.
    let mut runs = JoinSet::new();
    for number in 0..12 {
        let (backend, request) = (backend.clone(), ask(&format!("job-{number}"), 1));
        runs.spawn(async move { granted(&backend, &request).await });
    }
    runs.join_all().await;
    primary.freeze();
    let asked = Instant::now();
    let error = begin(&backend, &ask("job", 1)).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(asked.elapsed() < ms(1_200), "{:?}", asked.elapsed());
    primary.thaw();
    // What the silent connections had is not what later calls get.
    let mut answer = begin(&backend, &ask("job", 2)).await;
    for _ in 0..20 {
        if answer.is_ok() {
            break;
        }
        answer = begin(&backend, &ask("job", 2)).await;
    }
    assert!(answer.is_ok(), "{answer:?}");
}

/// A connection opened behind the grant has written nothing, and any number has that.
#[tokio::test]
async fn connections_that_die_under_the_wait_leave_no_run_behind() {
    let primary = RedisServer::start(RedisSettings::new());
    let replica = replica_of(&primary).await;
    let waiting = fresh().wait_replicas(1, ms(600));
    let backend = waiting.connect(&primary.url()).await.unwrap();
    replica.freeze();
    let mut admin = admin(&primary.url()).await;
    let killing = async {
        sleep(ms(200)).await;
        say(&mut admin, "CLIENT KILL TYPE normal SKIPME yes").await;
    };
    let request = ask("job", 1);
    let (answer, ()) = tokio::join!(begin(&backend, &request), killing);
    match answer {
        Ok(Acquisition::Consumed(skipped)) => {
            assert_eq!(skipped.reason, SkipReason::Unreplicated);
            assert!(!held(&backend).await);
        }
        Err(error) => assert!(error.is_retryable(), "{error:?}"),
        other => panic!("{other:?}"),
    }
    replica.thaw();
}
