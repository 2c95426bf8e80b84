//! What stands in the server, and how much of it.

use tidelock::{LockBackend, RecordStore, RunState};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};

use crate::bench::{TTL, admin, ask, finish, granted, history, record, say};

#[tokio::test]
async fn a_short_record_takes_at_most_250_bytes() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    let name = namespace();
    let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
    for second in 1..=100 {
        let request = ask("job", second);
        let grant = granted(&backend, &request).await;
        finish(&backend, &request, &grant.lease).await.unwrap();
    }
    let mut bytes = 0;
    for part in ["runs", "records", "running", "skipped"] {
        let command = format!("MEMORY USAGE tidelock:{{{name}:job}}:{part} SAMPLES 0");
        let usage: Option<i64> = redis::from_redis_value(say(&mut admin, &command).await).unwrap();
        bytes += usage.unwrap_or(0);
    }
    assert!(bytes <= 100 * 250, "{} bytes a record", bytes / 100);
    println!("{} bytes a record", bytes / 100);
}

#[tokio::test]
async fn every_lock_has_an_end_and_every_mark_has_none() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    let name = namespace();
    let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    let mut left = async |part: &str| -> i64 {
        let command = format!("PTTL tidelock:{{{name}:job}}:{part}");
        redis::from_redis_value(say(&mut admin, &command).await).unwrap()
    };
    assert!((1..=30_000).contains(&left("lock").await));
    let _ = backend.renew(&grant.lease, TTL * 2).await.unwrap();
    assert!((30_001..=60_000).contains(&left("lock").await));
    assert_eq!(left("mark").await, -1);
    finish(&backend, &request, &grant.lease).await.unwrap();
    assert_eq!(left("lock").await, -2);
    assert_eq!(left("open").await, -2, "no open run is left");
    assert_eq!(left("mark").await, -1);
}

#[tokio::test]
async fn an_entry_that_is_no_record_hides_no_other() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    let name = namespace();
    let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
    let requests = [ask("job", 1), ask("job", 2), ask("job", 3)];
    for request in &requests {
        let done = record(request, RunState::Succeeded);
        backend.save(&done).await.unwrap();
    }
    let key = format!("tidelock:{{{name}:job}}:records");
    let spoilt = requests[1].run_id;
    say(&mut admin, &format!("HSET {key} {spoilt} garbage")).await;
    let missing = requests[2].run_id;
    say(&mut admin, &format!("HDEL {key} {missing}")).await;
    let records = history(&backend).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].run_id, requests[0].run_id);
    // And it gives way to a record.
    for request in &requests {
        let done = record(request, RunState::Failed);
        backend.save(&done).await.unwrap();
    }
    assert_eq!(history(&backend).await.len(), 3);
}

#[tokio::test]
async fn a_save_costs_the_same_whatever_the_length_of_the_history() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    let mut counts = Vec::new();
    for keep in [10, 5_000] {
        let backend =
            RedisBackend::builder(namespace()).keep(keep).connect(&server.url()).await.unwrap();
        for second in 0..i64::from(keep) + 5 {
            let done = record(&ask("job", second), RunState::Succeeded);
            backend.save(&done).await.unwrap();
        }
        say(&mut admin, "CONFIG RESETSTAT").await;
        let done = record(&ask("job", 0), RunState::Succeeded);
        backend.save(&done).await.unwrap();
        let stats = say(&mut admin, "INFO commandstats").await;
        let stats: String = redis::from_redis_value(stats).unwrap();
        let calls: u64 = stats
            .lines()
            .filter_map(|line| line.split_once("calls=")?.1.split(',').next()?.parse().ok())
            .map(|calls: u64| calls)
            .sum();
        counts.push(calls);
    }
    assert_eq!(counts[0], counts[1], "commands a save");
}
