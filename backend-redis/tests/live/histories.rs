//! Long histories, short ones, and runs that go on through all of it.

use std::time::Duration;

use tidelock::{Clear, Job, LockBackend, LockKey, RecordQuery, RecordStore, RunState, Scheduler};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::bench::{admin, ask, finish, fresh, granted, history, job, ms, record, say};

#[tokio::test]
async fn ten_thousand_long_records_are_listed_in_parts_within_the_deadline() {
    let server = RedisServer::start(RedisSettings::new());
    let backend = fresh().keep(10_000).connect(&server.url()).await.unwrap();
    let mut saves = JoinSet::new();
    for second in 0..10_000 {
        let (backend, run) = (backend.clone(), record(&ask("job", second), RunState::Failed));
        let run = run.with_error("e".repeat(if second % 10 == 0 { 16_000 } else { 10 }));
        saves.spawn(async move { backend.save(&run).await.unwrap() });
        if saves.len() >= 200 {
            let _ = saves.join_next().await;
        }
    }
    saves.join_all().await;
    for (limit, expected) in [(0, 0), (1, 1), (100, 100), (101, 101), (usize::MAX, 10_000)] {
        let records = backend.list(&RecordQuery::newest(job("job"), limit)).await.unwrap();
        assert_eq!(records.len(), expected);
    }
    // What is stored makes no end of a run slower.
    let request = ask("job", 100);
    let grant = granted(&backend, &request).await;
    let asked = Instant::now();
    finish(&backend, &request, &grant.lease).await.unwrap();
    assert!(asked.elapsed() < ms(100), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn a_fleet_that_keeps_less_from_now_on_trims_in_parts() {
    let url = RedisServer::shared_here().url();
    let name = namespace();
    let long = RedisBackend::builder(&name).keep(5_000).connect_lazy(&url).unwrap();
    for second in 0..2_500 {
        long.save(&record(&ask("job", second), RunState::Succeeded)).await.unwrap();
    }
    let short = RedisBackend::builder(&name).keep(1).connect_lazy(&url).unwrap();
    let mut lengths = Vec::new();
    for second in 0..4 {
        short.save(&record(&ask("job", second), RunState::Succeeded)).await.unwrap();
        lengths.push(long.list(&RecordQuery::newest(job("job"), 10_000)).await.unwrap().len());
    }
    assert_eq!(lengths, [1_501, 502, 1, 1]);
}

#[tokio::test]
async fn one_kept_run_and_no_time_at_all_lose_no_run_that_goes_on() {
    let url = RedisServer::shared_here().url();
    for (keep, age) in [(1, Duration::from_secs(60)), (0, ms(1)), (100, Duration::ZERO)] {
        let builder = fresh().keep(keep).max_age(age);
        let backend = builder.connect_lazy(&url).unwrap();
        let running: Vec<_> = (0..5).map(|second| ask("job", second)).collect();
        for request in &running {
            backend.save(&record(request, RunState::Running)).await.unwrap();
        }
        for second in 10..20 {
            backend.save(&record(&ask("job", second), RunState::Failed)).await.unwrap();
            backend.save(&record(&ask("job", second), RunState::Missed)).await.unwrap();
        }
        sleep(ms(5)).await;
        let records = history(&backend).await;
        let found = |request: &tidelock::AcquireRequest| {
            records.iter().any(|r| r.run_id == request.run_id && r.state == RunState::Running)
        };
        assert!(running.iter().all(found), "{keep} {age:?} {records:?}");
        assert!(records.len() <= 5 + 2 * keep as usize, "{keep} {age:?} {records:?}");
        // They end oldest first: of those that ended, the newest stays.
        for request in &running {
            backend.save(&record(request, RunState::Succeeded)).await.unwrap();
        }
        let left: Vec<_> = history(&backend).await.into_iter().map(|r| r.state).collect();
        assert!(!left.contains(&RunState::Running));
    }
}

#[tokio::test]
async fn a_job_with_spoilt_entries_disturbs_no_other() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    let name = namespace();
    let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
    let key = |job: &str, part: &str| format!("tidelock:{{{name}:{job}}}:{part}");
    say(&mut admin, &format!("HSET {} tick soon", key("mark", "mark"))).await;
    say(&mut admin, &format!("HSET {} holder h", key("lock", "lock"))).await;
    say(&mut admin, &format!("ZADD {} 1 garbage", key("open", "open"))).await;
    say(&mut admin, &format!("SET {} x", key("records", "records"))).await;
    let mut node = Scheduler::builder(backend.clone());
    for name in ["mark", "lock", "open", "records", "good"] {
        let every = Job::new(name).cron("* * * * * *").unwrap();
        node = node.job(every.run(|_| async { Ok::<(), String>(()) })).unwrap();
    }
    let node = node.start().await.unwrap();
    let runs = async |name: &str| {
        let records = backend.list(&RecordQuery::newest(job(name), 100)).await.unwrap();
        records.iter().filter(|r| r.state == RunState::Succeeded).count()
    };
    let begun = Instant::now();
    while runs("good").await < 3 || runs("open").await < 3 {
        assert!(begun.elapsed() < ms(8_000), "{} {}", runs("good").await, runs("open").await);
        sleep(ms(100)).await;
    }
    assert_eq!((runs("mark").await, runs("lock").await), (0, 0));
    for name in ["mark", "lock"] {
        let _ = backend.force_release(&LockKey::of(&job(name)), Clear::LockAndMark).await.unwrap();
    }
    say(&mut admin, &format!("DEL {}", key("records", "records"))).await;
    let begun = Instant::now();
    while runs("mark").await < 1 || runs("lock").await < 1 || runs("records").await < 1 {
        assert!(begun.elapsed() < ms(8_000));
        sleep(ms(100)).await;
    }
    let _ = node.shutdown(ms(2_000)).await;
}

/// A node that dies in each run leaves more open runs than are kept; each grant names them all.
#[tokio::test]
async fn runs_abandoned_in_a_row_push_out_none_that_are_newer() {
    let redis = fresh().keep(3).connect_lazy(&RedisServer::shared_here().url()).unwrap();
    let memory = tidelock_memory::MemoryBackend::new().keep(3);
    let backends: [&dyn tidelock::Backend; 2] = [&redis, &memory];
    for backend in backends {
        let mut begun = Vec::new();
        for second in 0..8 {
            let mut request = ask("job", second);
            request.ttl = ms(1);
            begun.insert(0, request.run_id);
            let _ = backend.begin(&request, &record(&request, RunState::Running)).await.unwrap();
            let records = backend.list(&RecordQuery::newest(job("job"), 10)).await.unwrap();
            let listed: Vec<_> = records.iter().map(|record| record.run_id).collect();
            assert_eq!(listed, begun[..begun.len().min(3)], "{records:?}");
            sleep(ms(5)).await;
        }
    }
}
