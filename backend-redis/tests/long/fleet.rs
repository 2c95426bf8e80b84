//! A random fleet in real time over a server that is stopped, killed and cut off: a minute, or as
//! long as `TIDELOCK_FLEET_SECONDS` says.

use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, Served, namespace};
use tidelock_tests::simulation::{Real, endure};

#[tokio::test]
async fn a_random_fleet_over_a_server_that_fails_keeps_the_promise() {
    endure("tidelock-redis --test long fleet", Real::new(&[1_000, 2_000]), async || {
        let name = namespace();
        Served::new(RedisServer::start(RedisSettings::new().durable()), move |addresses| {
            let url = format!("redis://{}", addresses[0]);
            RedisBackend::builder(&name).keep(10_000).connect_lazy(&url).unwrap()
        })
    })
    .await;
}
