//! A server that is up and still reads what it had stored. Field report BR-061.

use std::time::Duration;

use tidelock::{Acquisition, ErrorKind};
use tidelock_redis::RedisBackend;
use tidelock_tests::fleet::Fleet;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::Instant;

use crate::bench::{admin, ask, begin, ms, say};
use crate::fleets::{assert_kept, backends, each_second};

/// A server with a history, which takes seconds to read it once it is started again.
async fn slow_to_load() -> RedisServer {
    let settings = RedisSettings::new()
        .durable()
        .with("key-load-delay", "200")
        .with("loading-process-events-interval-bytes", "2048");
    let server = RedisServer::start(settings);
    let mut admin = admin(&server.url()).await;
    let fill = "for i = 1, 10000 do redis.call('SET', 'filler:' .. i, i) end";
    redis::cmd("EVAL").arg(fill).arg(0).exec_async(&mut admin).await.unwrap();
    say(&mut admin, "BGREWRITEAOF").await;
    loop {
        let info = say(&mut admin, "INFO persistence").await;
        let info: String = redis::from_redis_value(info).unwrap();
        if info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0") {
            return server;
        }
        tokio::time::sleep(ms(20)).await;
    }
}

#[tokio::test]
async fn a_server_that_is_loading_is_asked_again_within_bounds() {
    let server = slow_to_load().await;
    let name = namespace();
    let within = |timeout| {
        let builder = RedisBackend::builder(&name).operation_timeout(timeout);
        builder.connect_lazy(&server.url()).unwrap()
    };
    server.kill();
    server.restart();
    let asked = Instant::now();
    let error = begin(&within(ms(700)), &ask("job", 1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error:?}");
    assert!(error.is_retryable() && asked.elapsed() < ms(1_500), "{:?}", asked.elapsed());
    let patient = begin(&within(Duration::from_secs(20)), &ask("job", 2)).await.unwrap();
    assert!(matches!(patient, Acquisition::Granted(_)), "{patient:?}");
}

#[tokio::test]
async fn nodes_over_a_server_that_is_loading_repeat_no_tick() {
    let server = slow_to_load().await;
    let name = namespace();
    let fleet = Fleet::start(backends(&server.url(), &name, 2), |seen| {
        vec![each_second(seen, "job", ms(20), ms(3_000))]
    })
    .await;
    fleet.seen.wait_for("job", 2).await;
    server.kill();
    server.restart();
    let before = fleet.seen.of("job").len();
    fleet.seen.wait_for("job", before + 3).await;
    let seen = fleet.shutdown(ms(2_000)).await;
    assert_kept(&seen, &server.url(), &name, &["job"]).await;
}
