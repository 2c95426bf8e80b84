//! What goes over the wire, counted at a proxy.

use std::sync::Arc;
use std::time::Duration;

use tidelock::{Job, Scheduler};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{Proxy, RedisServer, RedisSettings, namespace};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::bench::{ask, begin, finish, granted, ms};

async fn node(proxy: &Proxy, name: &str, jobs: Vec<Job>) -> Scheduler {
    let backend = RedisBackend::builder(name).connect(&proxy.url()).await.unwrap();
    let _ = proxy.take_commands(); // what connecting took
    let mut node = Scheduler::builder(backend);
    for job in jobs {
        node = node.job(job).unwrap();
    }
    node.start().await.unwrap()
}

#[tokio::test]
async fn a_run_is_one_call_to_begin_and_one_to_finish_and_a_loser_one() {
    let server = RedisServer::start(RedisSettings::new());
    let (winner, loser) = (Proxy::to(server.address()).await, Proxy::to(server.address()).await);
    let name = namespace();
    let url = |proxy: &Proxy| proxy.url();
    let a = RedisBackend::builder(&name).connect(&url(&winner)).await.unwrap();
    let b = RedisBackend::builder(&name).connect(&url(&loser)).await.unwrap();
    let _ = (winner.take_commands(), loser.take_commands());
    let request = ask("job", 1);
    let grant = granted(&a, &request).await;
    let _ = begin(&b, &ask("job", 1)).await.unwrap();
    finish(&a, &request, &grant.lease).await.unwrap();
    assert_eq!(winner.take_commands(), ["EVALSHA", "EVALSHA"]);
    assert_eq!(loser.take_commands(), ["EVALSHA"]);
}

#[tokio::test]
async fn a_scheduler_sends_a_call_to_begin_one_each_renewal_and_one_to_finish() {
    let server = RedisServer::start(RedisSettings::new());
    let proxy = Proxy::to(server.address()).await;
    let (started, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (start, end) = (started.clone(), ended.clone());
    let job = Job::new("job")
        .cron("*/4 * * * * *")
        .unwrap()
        .lock_ttl(ms(3_000)) // renewed each second
        .run(move |_| {
            let (start, end) = (start.clone(), end.clone());
            async move {
                start.notify_one();
                sleep(ms(2_500)).await;
                end.notify_one();
            }
        });
    let node = node(&proxy, &namespace(), vec![job]).await;
    sleep(ms(500)).await;
    let looked = proxy.take_commands(); // at start, each job is looked up once
    timeout(Duration::from_secs(20), started.notified()).await.unwrap();
    let before = proxy.take_commands();
    assert_eq!(
        looked.iter().chain(&before).filter(|c| *c == "EVALSHA").count(),
        2,
        "one look and one begin: {looked:?} {before:?}"
    );
    timeout(Duration::from_secs(20), ended.notified()).await.unwrap();
    sleep(ms(300)).await;
    assert_eq!(proxy.take_commands(), ["EVALSHA"; 3], "two renewals and the end");
    let _ = node.shutdown(ms(100)).await;
}

#[tokio::test]
async fn an_idle_scheduler_of_a_thousand_jobs_sends_nothing() {
    let server = RedisServer::start(RedisSettings::new());
    let proxy = Proxy::to(server.address()).await;
    let jobs = (0..1_000)
        .map(|number| {
            let job = Job::new(format!("job-{number}")).cron("0 0 29 2 *").unwrap();
            job.run(|_| async {})
        })
        .collect();
    let node = node(&proxy, &namespace(), jobs).await;
    // Each job is looked up once.
    let mut looked = 0;
    for _ in 0..200 {
        looked += proxy.take_commands().iter().filter(|c| *c == "EVALSHA").count();
        if looked >= 1_000 {
            break;
        }
        sleep(ms(100)).await;
    }
    sleep(ms(1_000)).await;
    let _ = proxy.take_commands();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(proxy.take_commands(), [""; 0]);
    let _ = node.shutdown(ms(100)).await;
}
