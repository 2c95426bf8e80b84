//! A whole run, from its first call to its last, at a number of runs at a time.

use std::sync::Arc;
use std::time::Duration;

use tidelock_tests::servers::namespace;

use super::by_hand::ByHand;
use super::floor::Floor;
use super::{Redis, ours};
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{Beside, MOST, fill, runtime};

pub(crate) const BENCH: Bench = Bench {
    name: "redis-run",
    about: "a whole run on Redis beside two scripts by hand, and beside rslock with records by hand",
    run,
    child: None,
};

/// One more than is kept.
const HISTORY: usize = 101;

fn run() {
    let runtime = runtime();
    let (redis, floor, ours, peer) = runtime.block_on(async {
        let redis = Redis::connect().await;
        let floor = Arc::new(Floor::new(&redis.url, &namespace(), MOST).await);
        let ours = Arc::new(ours(&redis.url, MOST).await);
        let peer = Arc::new(ByHand::new(&redis.url, &namespace(), MOST).await);
        fill(&floor, MOST, HISTORY).await;
        fill(&ours, MOST, HISTORY).await;
        fill(&peer, MOST, HISTORY).await;
        (redis, floor, ours, peer)
    });
    let calls = runtime.block_on(async {
        let before = redis.executed("evalsha").await.0;
        fill(&ours, 10, 10).await;
        (redis.executed("evalsha").await.0 - before) / 100.0
    });
    Goal::at_most("calls a run", calls, 2.0).tell();
    let peer_name = "rslock and by hand";
    let (rounds, round) = (9, Duration::from_millis(300));
    let (runtime, server) = (&runtime, &redis);
    let beside = Beside { runtime, server, floor, ours, peer, peer_name, rounds, round };
    for found in beside.measure() {
        found.tell_rates(0.85, "rslock's and by hand", 1.2);
        found.tell_cpu(1.15, 1.5);
    }
}
