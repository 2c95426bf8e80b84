//! Five containers and a server on a network that is cut: see the README of the tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::Path;
use std::time::Duration;

use tidelock_redis::RedisBackend;
use tidelock_tests::live::history_of;
use tidelock_tests::processes::{ContainedProcesses, Containers};

#[tokio::test]
#[ignore = "needs a container engine"]
async fn a_fleet_over_redis_that_is_cut_apart_repeats_no_tick_and_every_run_is_accounted_for() {
    let containers = Containers::new();
    let image = containers.image(Path::new("redis-server"));
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let open = ["redis-server", "--protected-mode", "no"];
    containers.serve(&image, "redis", &[&open[..], &durable].concat());
    let node = ["--redis", "redis://redis:6379", "--namespace", "contained", "--ttl", "2000"];
    let (seed, time) = ContainedProcesses::chosen(Duration::from_secs(60));
    let mut fleet = ContainedProcesses::start(&containers, seed, &node);
    fleet.live_dangerously(&["redis"], time).await;
    let url = format!("redis://{}:6379", containers.address("redis"));
    let backend = RedisBackend::builder("contained").connect_lazy(&url).unwrap();
    println!("{}", fleet.account(&history_of(&backend, "example").await));
}
