//! A whole run, from its first call to its last, at a number of runs at a time.

use std::sync::Arc;
use std::time::Duration;

use tidelock_tests::servers::namespace;

use super::floor::Floor;
use super::lease_each::LeaseEach;
use super::{Etcd, ours};
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{Beside, MOST, fill, runtime};

pub(crate) const BENCH: Bench = Bench {
    name: "etcd-run",
    about: "a whole run on etcd beside two bare transactions, and beside a lease for each run",
    run,
    child: None,
};

/// One more than is kept.
const HISTORY: usize = 101;

fn run() {
    let runtime = runtime();
    let etcd = Etcd::shared();
    let (floor, ours, peer) = runtime.block_on(async {
        let floor = Arc::new(Floor::new(&etcd, &namespace(), MOST).await);
        let ours = Arc::new(ours(&etcd.endpoints, MOST).await);
        let peer = Arc::new(LeaseEach::new(&etcd, &namespace(), MOST).await);
        (floor, ours, peer)
    });
    let transactions = runtime.block_on(async {
        fill(&ours, 10, 1).await;
        let before = etcd.transactions();
        fill(&ours, 10, 10).await;
        etcd.transactions() - before
    });
    runtime.block_on(async {
        fill(&floor, MOST, HISTORY).await;
        fill(&ours, MOST, HISTORY).await;
    });
    #[expect(clippy::cast_precision_loss, reason = "small")]
    Goal::at_most("transactions a run", transactions as f64 / 100.0, 2.0).tell();
    let peer_name = "a lease for each run";
    let (rounds, round) = (7, Duration::from_millis(600));
    let (runtime, server) = (&runtime, &etcd);
    let beside = Beside { runtime, server, floor, ours, peer, peer_name, rounds, round };
    for found in beside.measure() {
        found.tell_rates(0.85, "those with a lease each", 1.8);
    }
}
