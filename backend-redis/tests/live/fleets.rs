//! Whole schedulers over a server that fails under them: no tick runs twice, no run is without its
//! record once the server is back, and other jobs go on.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tidelock::{
    Clear, Clock, Job, LockBackend, LockKey, RunState, Scheduler, SystemClock, TestClock,
};
use tidelock_redis::RedisBackend;
use tidelock_tests::fleet::{Fleet, Seen};
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::bench::{admin, job, ms, say};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn each_second(seen: &Seen, name: &str, takes: Duration, ttl: Duration) -> Job {
    Job::new(name).cron("* * * * * *").unwrap().lock_ttl(ttl).run(seen.takes(takes))
}

pub(crate) fn backends(url: &str, name: &str, count: usize) -> Vec<RedisBackend> {
    (0..count).map(|_| backend(url, name)).collect()
}

fn backend(url: &str, name: &str) -> RedisBackend {
    RedisBackend::builder(name).connect_lazy(url).unwrap()
}

/// What became of the runs and ticks of those jobs.
pub(crate) async fn assert_kept(seen: &Seen, url: &str, name: &str, jobs: &[&str]) {
    seen.assert_once_and_apart();
    for job in jobs {
        seen.assert_accounted(&backend(url, name), job, SECOND).await;
    }
}

#[tokio::test]
async fn a_server_killed_before_and_within_ticks_repeats_none_and_loses_no_record() {
    let server = RedisServer::start(RedisSettings::new().durable());
    let name = namespace();
    let fleet = Fleet::start(backends(&server.url(), &name, 3), |seen| {
        let slow = each_second(seen, "slow", ms(1_500), ms(4_000));
        vec![each_second(seen, "quick", ms(20), ms(4_000)), slow]
    })
    .await;
    for away in [300, 1_200, 2_500] {
        let before = fleet.seen.of("quick").len();
        fleet.seen.wait_for("quick", before + 2).await;
        server.kill();
        sleep(ms(away)).await;
        server.restart();
    }
    let before = fleet.seen.of("quick").len();
    fleet.seen.wait_for("quick", before + 2).await;
    let seen = fleet.shutdown(ms(5_000)).await;
    assert_kept(&seen, &server.url(), &name, &["quick", "slow"]).await;
    let back = backend(&server.url(), &name);
    for id in ["quick", "slow"] {
        let state = back.inspect(&LockKey::of(&job(id))).await.unwrap().value;
        assert!(state.held.is_none() && state.open_runs.is_empty(), "{state:?}");
    }
}

#[tokio::test]
async fn a_run_that_ends_while_the_server_is_away_has_its_record_once_it_is_back() {
    let server = RedisServer::start(RedisSettings::new().durable());
    let name = namespace();
    let end = Arc::new(Notify::new());
    let fleet = Fleet::start(backends(&server.url(), &name, 2), |seen| {
        let (seen, end) = (seen.clone(), end.clone());
        let held = Job::new("held").cron("*/2 * * * * *").unwrap().lock_ttl(ms(6_000));
        vec![held.run(move |run| {
            let (started, end) = (seen.starts(&run), end.clone());
            async move {
                end.notified().await;
                drop(started);
            }
        })]
    })
    .await;
    fleet.seen.wait_for("held", 1).await;
    server.kill();
    end.notify_one();
    sleep(ms(1_500)).await;
    server.restart();
    fleet.seen.wait_for("held", 2).await;
    end.notify_one();
    let first = fleet.seen.of("held")[0].clone();
    let records = fleet.nodes[0].control().history("held", 100).await.unwrap();
    let record = records.iter().find(|r| r.run_id == first.run_id).unwrap();
    assert_eq!(record.state, RunState::Succeeded);
    end.notify_one();
    let seen = fleet.shutdown(ms(3_000)).await;
    seen.assert_once_and_apart();
}

#[tokio::test]
async fn a_server_frozen_for_three_seconds_repeats_no_tick() {
    let server = RedisServer::start(RedisSettings::new());
    let name = namespace();
    let fleet = Fleet::start(backends(&server.url(), &name, 3), |seen| {
        vec![each_second(seen, "job", ms(20), ms(2_000))]
    })
    .await;
    fleet.seen.wait_for("job", 2).await;
    server.freeze();
    sleep(ms(3_000)).await;
    server.thaw();
    let before = fleet.seen.of("job").len();
    fleet.seen.wait_for("job", before + 3).await;
    let seen = fleet.shutdown(ms(2_000)).await;
    assert_kept(&seen, &server.url(), &name, &["job"]).await;
}

/// Field report BR-038, and that one job's broken keys are its own trouble.
#[tokio::test]
async fn a_key_of_the_wrong_type_runs_nothing_and_holds_up_no_other_job() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    let name = namespace();
    for (broken, part) in [("b-lock", "lock"), ("b-mark", "mark"), ("b-open", "open")] {
        say(&mut admin, &format!("LPUSH tidelock:{{{name}:{broken}}}:{part} x")).await;
    }
    let fleet = Fleet::start(backends(&server.url(), &name, 2), |seen| {
        ["b-lock", "b-mark", "b-open", "good"].map(|id| each_second(seen, id, ms(5), SECOND)).into()
    })
    .await;
    let mut events = fleet.nodes[0].control().events();
    fleet.seen.wait_for("good", 4).await;
    let failed = std::iter::from_fn(|| events.try_next())
        .filter(|event| matches!(event.kind, tidelock::EventKind::BackendFailed { .. }))
        .filter_map(|event| event.job);
    let failed: std::collections::BTreeSet<_> = failed.map(|id| id.to_string()).collect();
    assert_eq!(failed.into_iter().collect::<Vec<_>>(), ["b-lock", "b-mark", "b-open"]);
    let seen = fleet.shutdown(ms(2_000)).await;
    for broken in ["b-lock", "b-mark", "b-open"] {
        assert!(seen.of(broken).is_empty(), "{broken} ran");
    }
    assert_kept(&seen, &server.url(), &name, &["good"]).await;
    let history = tidelock::RecordQuery::newest(job("good"), 100);
    let store = backend(&server.url(), &name);
    for record in tidelock::RecordStore::list(&store, &history).await.unwrap() {
        let late = record.started.duration_since(record.occurrence.unwrap().at());
        assert!(late < SignedDuration::from_millis(500), "{late} late: {record:?}");
    }
}

/// Field reports BR-035 and BR-036: short jobs, and nodes whose clocks are slow and far ahead.
#[tokio::test]
async fn clocks_that_differ_by_minutes_run_each_tick_once() {
    let server = RedisServer::start(RedisSettings::new());
    let (name, seen) = (namespace(), Seen::default());
    let mut nodes = Vec::new();
    for skew in [0, -2_000, 600_000] {
        let clock = TestClock::new(SystemClock.now()).skewed(SignedDuration::from_millis(skew));
        let node = Scheduler::builder(backend(&server.url(), &name)).clock(clock);
        let node = node.job(each_second(&seen, "job", ms(20), ms(2_000))).unwrap();
        nodes.push(node.start().await.unwrap());
    }
    seen.wait_for("job", 6).await;
    for start in seen.of("job") {
        let began = SystemClock.now() - SignedDuration::try_from(start.at.elapsed()).unwrap();
        let ahead = start.tick.unwrap().at().duration_since(began);
        assert!(ahead < SignedDuration::from_millis(1_100), "a tick ran {ahead} early");
    }
    for node in nodes {
        let _ = node.shutdown(ms(1_000)).await;
    }
    assert_kept(&seen, &server.url(), &name, &["job"]).await;
}

/// Field report BR-052: a name says nothing about who holds what.
#[tokio::test]
async fn nodes_of_one_name_run_each_tick_once() {
    let server = RedisServer::start(RedisSettings::new());
    let (name, seen) = (namespace(), Seen::default());
    let start = async || {
        let node = Scheduler::builder(backend(&server.url(), &name)).node_id("same").unwrap();
        let node = node.job(each_second(&seen, "job", ms(600), ms(2_000))).unwrap();
        node.start().await.unwrap()
    };
    let (first, second) = (start().await, start().await);
    seen.wait_for("job", 2).await;
    // One of them is started again while the other may be in a run.
    let _ = first.shutdown(ms(1_000)).await;
    let third = start().await;
    seen.wait_for("job", 5).await;
    let _ = (second.shutdown(ms(1_000)).await, third.shutdown(ms(1_000)).await);
    assert_kept(&seen, &server.url(), &name, &["job"]).await;
}

#[tokio::test]
async fn a_lock_taken_away_by_an_operator_is_noticed_at_the_next_renewal() {
    let url = RedisServer::shared_here().url();
    let name = namespace();
    let fleet = Fleet::start(backends(&url, &name, 1), |seen| {
        let long = each_second(seen, "long", Duration::from_secs(60), ms(1_500));
        vec![long, each_second(seen, "other", ms(5), ms(1_500))]
    })
    .await;
    fleet.seen.wait_for("long", 1).await;
    let clear = Clear::Lock;
    let _ = backend(&url, &name).force_release(&LockKey::of(&job("long")), clear).await.unwrap();
    fleet.seen.wait_for("long", 2).await;
    let first = fleet.seen.of("long")[0].clone();
    let others = fleet.seen.of("other").len();
    fleet.seen.wait_for("other", others + 1).await;
    let records = fleet.nodes[0].control().history("long", 10).await.unwrap();
    let record = records.iter().find(|r| r.run_id == first.run_id).unwrap();
    assert_eq!(record.state, RunState::LockLost);
    let _ = fleet.shutdown(ms(100)).await;
}
