//! Many schedulers that lose their server at once. Field report BR-065.

use std::time::Duration;

use tidelock_tests::fleet::Fleet;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::sleep;

use crate::bench::{admin, ms, say};
use crate::fleets::{assert_kept, backends, each_second};

const NODES: usize = 200;

/// How many connections the server has taken since it was started, this one included.
async fn connections_taken(url: &str) -> usize {
    let mut admin = admin(url).await;
    let stats: String = redis::from_redis_value(say(&mut admin, "INFO stats").await).unwrap();
    let field = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    field.unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_schedulers_that_come_back_together_take_a_connection_each() {
    let server = RedisServer::start(RedisSettings::new().durable());
    let name = namespace();
    let fleet = Fleet::start(backends(&server.url(), &name, NODES), |seen| {
        vec![each_second(seen, "job", ms(20), ms(4_000))]
    })
    .await;
    fleet.seen.wait_for("job", 2).await;
    server.kill();
    sleep(Duration::from_secs(5)).await;
    server.restart();
    let before = fleet.seen.of("job").len();
    fleet.seen.wait_for("job", before + 3).await;
    let taken = connections_taken(&server.url()).await;
    // The fixture's own, to see that the server answers, are among them.
    assert!((NODES..=NODES + 20).contains(&taken), "{taken} connections for {NODES} schedulers");
    let seen = fleet.shutdown(ms(3_000)).await;
    assert_kept(&seen, &server.url(), &name, &["job"]).await;
}
