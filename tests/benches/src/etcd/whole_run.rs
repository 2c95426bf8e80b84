//! A whole run, from its first call to its last, at a number of runs at a time.

use std::sync::Arc;
use std::time::Duration;

use tidelock_tests::servers::namespace;

use super::floor::Floor;
use super::lease_each::LeaseEach;
use super::{Etcd, ours};
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{COLUMNS, fill, load, runtime};
use crate::measure::interleaved;
use crate::table::{Table, ratio, show};

pub(crate) const BENCH: Bench = Bench {
    name: "etcd-run",
    about: "a whole run on etcd beside two bare transactions, and beside a lease for each run",
    run,
    child: None,
};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(600);
const MOST: usize = 256;
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
    let mut table = Table::new(&["at a time", COLUMNS[0], COLUMNS[1], COLUMNS[2]]);
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let transactions = transactions as f64 / 100.0;
    let mut goals = vec![Goal::at_most("transactions a run", transactions, 2.0)];
    for jobs in [1, 16, MOST] {
        let names = ["floor", "tidelock", "a lease for each run"];
        let found = interleaved(ROUNDS, &names, |name| {
            runtime.block_on(async {
                match *name {
                    "floor" => load(&floor, &etcd, jobs, ROUND).await,
                    "tidelock" => load(&ours, &etcd, jobs, ROUND).await,
                    _ => load(&peer, &etcd, jobs, ROUND).await,
                }
            })
        });
        for (name, figures) in names.iter().zip(&found) {
            table.row(&format!("{jobs}: {name}"), figures.iter().map(|figure| show(*figure)));
        }
        let [floor, ours, peer] = &found[..] else { return };
        let against = ours.iter().zip(floor).map(|(ours, floor)| ratio(*ours, *floor));
        table.row(&format!("{jobs}: tidelock / floor"), against);
        goals.push(Goal::at_least(
            format!("runs a second, {jobs} at a time, of the floor's"),
            ours[0] / floor[0],
            0.85,
        ));
        goals.push(Goal::at_least(
            format!("runs a second, {jobs} at a time, of those with a lease each"),
            ours[0] / peer[0],
            1.8,
        ));
    }
    table.print();
    goals.into_iter().for_each(Goal::tell);
}
