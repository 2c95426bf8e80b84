//! A Cluster of several members: `cargo test -p tidelock-redis --all-features --test cluster`.

#![cfg(feature = "cluster")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod lasting;
mod members;

use std::time::Duration;

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, Backend, BackendError, Fingerprint, Holder, JobId, LockKey,
    NodeId, Occurrence, Record, RunId, RunState,
};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, namespace};
use tokio::time::{Instant, sleep};

use members::{Members, say, text, until};

fn ask(job: &str, number: u128) -> AcquireRequest {
    let node = NodeId::new("node").unwrap();
    AcquireRequest::new(
        LockKey::of(&JobId::new(job).unwrap()),
        Holder::new(&node, number),
        RunId::new(number),
        node,
        Occurrence::from_millisecond(i64::try_from(number).unwrap() * 1_000),
        Fingerprint::new(1),
        Duration::from_secs(30),
    )
}

fn record(request: &AcquireRequest, state: RunState) -> Record {
    let (job, node) = (request.key.job().clone(), request.node.clone());
    Record::new(request.run_id, job, node, state, Timestamp::UNIX_EPOCH)
}

/// Any answer to an ask: what a silent member was asked for it does when it goes on.
async fn hear(backend: &RedisBackend, job: &str, number: u128) -> Result<(), BackendError> {
    let request = ask(job, number);
    backend.begin(&request, &record(&request, RunState::Running)).await.map(drop)
}

/// A whole run, or why there was none.
async fn run(backend: &RedisBackend, job: &str, number: u128) -> Result<(), BackendError> {
    let request = ask(job, number);
    let begun = backend.begin(&request, &record(&request, RunState::Running)).await?;
    let Acquisition::Granted(grant) = begun.value.acquisition else {
        panic!("not granted: {begun:?}");
    };
    let done = record(&request, RunState::Succeeded);
    let finished = backend.finish(&grant.lease, &done).await?.value;
    assert!(finished.unsaved.is_none(), "{finished:?}");
    Ok(())
}

#[tokio::test]
async fn a_member_that_is_silent_or_gone_stops_the_jobs_of_no_other() {
    let members = Members::start().await;
    let name = members.probing(1).await;
    let backend = members.connect(&name).await;
    let (there, _) = members.job_at(&name, 1).await;
    let (elsewhere, _) = members.job_at(&name, 2).await;
    for job in [&there, &elsewhere] {
        run(&backend, job, 1).await.unwrap();
    }
    members.0[1].freeze();
    let mut number = 2;
    for _ in 0..2 {
        let asked = Instant::now();
        let error = hear(&backend, &there, number).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?}");
        assert!(asked.elapsed() < Duration::from_millis(1_500));
        let asked = Instant::now();
        let other = run(&backend, &elsewhere, number).await;
        other.unwrap();
        assert!(asked.elapsed() < Duration::from_millis(500));
        number += 1;
    }
    // Nothing but silence for a while: enough for a connection to count as dead.
    for _ in 0..2 {
        let silent = || async { hear(&backend, &there, 2).await.unwrap_err() };
        let silent = tokio::join!(silent(), silent(), silent(), silent());
        assert!(silent.0.is_retryable() && silent.3.is_retryable());
        for _ in 0..3 {
            let asked = Instant::now();
            run(&backend, &elsewhere, number).await.unwrap();
            assert!(asked.elapsed() < Duration::from_millis(500), "{:?}", asked.elapsed());
            number += 1;
        }
    }
    // A node that starts meanwhile finds the others.
    let fresh = members.connect(&name).await;
    run(&fresh, &elsewhere, number).await.unwrap();
    number += 1;
    members.0[1].thaw();
    let thawed = Instant::now();
    while let Err(error) = hear(&backend, &there, number + 10).await {
        assert!(error.is_retryable(), "{error:?}");
        assert!(thawed.elapsed() < Duration::from_secs(5), "{error:?}");
    }

    members.0[1].kill();
    for _ in 0..2 {
        let asked = Instant::now();
        let error = hear(&backend, &there, number + 20).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?}");
        assert!(asked.elapsed() < Duration::from_millis(1_500));
        let asked = Instant::now();
        let other = run(&backend, &elsewhere, number).await;
        other.unwrap();
        assert!(asked.elapsed() < Duration::from_millis(500));
        number += 1;
    }
    members.0[1].restart();
    let back = Instant::now();
    while let Err(error) = hear(&backend, &there, number + 30).await {
        assert!(error.is_retryable(), "{error:?}");
        assert!(back.elapsed() < Duration::from_secs(10), "{error:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_successor_of_a_member_that_fell_silent_is_found() {
    let members = Members::start().await;
    let replica = RedisServer::start(Members::settings());
    let (port, id) = (members.0[0].address().port(), text(&members.0[1], "CLUSTER MYID").await);
    say(&replica, &format!("CLUSTER MEET 127.0.0.1 {port}")).await.unwrap();
    until(async || say(&replica, &format!("CLUSTER REPLICATE {id}")).await.is_ok()).await;
    until(async || text(&replica, "INFO replication").await.contains("master_link_status:up"))
        .await;
    // Those who elect it know it.
    for voter in [&members.0[0], &members.0[2]] {
        until(async || text(voter, "CLUSTER NODES").await.contains("slave")).await;
    }
    let name = namespace();
    let backend = members.connect(&name).await;
    let (job, _) = members.job_at(&name, 1).await;
    run(&backend, &job, 1).await.unwrap();
    members.0[1].freeze();
    until(async || text(&replica, "ROLE").await.contains("master")).await;
    // Whatever it has of the run before: an answer.
    until(async || hear(&backend, &job, 2).await.is_ok()).await;
}

#[tokio::test]
async fn a_slot_that_moves_takes_its_jobs_along() {
    let members = Members::start().await;
    let name = namespace();
    let backend = members.connect(&name).await;
    let (job, slot) = members.job_at(&name, 0).await;
    run(&backend, &job, 1).await.unwrap();
    run(&backend, &job, 2).await.unwrap();
    let (from, to) = (&members.0[0], &members.0[1]);
    let (from_id, to_id) = (text(from, "CLUSTER MYID").await, text(to, "CLUSTER MYID").await);
    say(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}")).await.unwrap();
    say(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}")).await.unwrap();
    let keys = say(from, &format!("CLUSTER GETKEYSINSLOT {slot} 100")).await.unwrap();
    let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    assert!(keys.len() >= 3, "{keys:?}");
    for key in &keys {
        let port = to.address().port();
        say(from, &format!("MIGRATE 127.0.0.1 {port} {key} 0 1000")).await.unwrap();
        let asked = Instant::now();
        let answer = run(&backend, &job, 3).await;
        if let Err(error) = answer {
            assert!(error.is_retryable(), "{error:?}");
        }
        assert!(asked.elapsed() < Duration::from_millis(2_500));
    }
    for server in [to, from, &members.0[2]] {
        say(server, &format!("CLUSTER SETSLOT {slot} NODE {to_id}")).await.unwrap();
    }
    let answer = run(&backend, &job, 4).await;
    answer.unwrap();
    // And back in one step, as the client sees it.
    run(&backend, &job, 5).await.unwrap();
}

/// As between the last two steps of moving one: each of two members names the other.
#[tokio::test]
async fn a_slot_that_is_nowhere_for_a_moment_is_waited_for() {
    let members = Members::start().await;
    let name = namespace();
    let backend = members.connect(&name).await;
    let (job, slot) = members.job_at(&name, 0).await;
    run(&backend, &job, 1).await.unwrap();
    let (from, to) = (&members.0[0], &members.0[1]);
    let (from_id, to_id) = (text(from, "CLUSTER MYID").await, text(to, "CLUSTER MYID").await);
    let keys = say(from, &format!("CLUSTER GETKEYSINSLOT {slot} 100")).await.unwrap();
    let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    say(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}")).await.unwrap();
    say(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}")).await.unwrap();
    let port = to.address().port();
    for key in &keys {
        say(from, &format!("MIGRATE 127.0.0.1 {port} {key} 0 1000")).await.unwrap();
    }
    say(from, &format!("CLUSTER SETSLOT {slot} NODE {to_id}")).await.unwrap();
    let (ran, ()) = tokio::join!(run(&backend, &job, 2), async {
        sleep(Duration::from_millis(400)).await;
        say(to, &format!("CLUSTER SETSLOT {slot} NODE {to_id}")).await.unwrap();
    });
    ran.unwrap();
}
