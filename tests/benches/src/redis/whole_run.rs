//! A whole run, from its first call to its last, at a number of runs at a time.

use std::sync::Arc;
use std::time::Duration;

use tidelock_tests::servers::namespace;

use super::by_hand::ByHand;
use super::floor::Floor;
use super::{Redis, ours};
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{COLUMNS, fill, load, runtime};
use crate::measure::interleaved;
use crate::table::{Table, ratio, show};

pub(crate) const BENCH: Bench = Bench {
    name: "redis-run",
    about: "a whole run on Redis beside two scripts by hand, and beside rslock with records by hand",
    run,
    child: None,
};

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(300);
/// One more than is kept.
const HISTORY: usize = 101;
const MOST: usize = 256;

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
    let mut table = Table::new(&["at a time", COLUMNS[0], COLUMNS[1], COLUMNS[2]]);
    let mut goals = vec![Goal::at_most("calls a run", calls, 2.0)];
    for jobs in [1, 16, MOST] {
        let names = ["floor", "tidelock", "rslock and by hand"];
        let found = interleaved(ROUNDS, &names, |name| {
            runtime.block_on(async {
                match *name {
                    "floor" => load(&floor, &redis, jobs, ROUND).await,
                    "tidelock" => load(&ours, &redis, jobs, ROUND).await,
                    _ => load(&peer, &redis, jobs, ROUND).await,
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
        goals.push(Goal::at_most(
            format!("server CPU a run, {jobs} at a time, of the floor's"),
            ours[1] / floor[1],
            1.15,
        ));
        goals.push(Goal::at_most(
            format!("client CPU a run, {jobs} at a time, of the floor's"),
            ours[2] / floor[2],
            1.5,
        ));
        goals.push(Goal::at_least(
            format!("runs a second, {jobs} at a time, of rslock's and by hand"),
            ours[0] / peer[0],
            1.2,
        ));
    }
    table.print();
    goals.into_iter().for_each(Goal::tell);
}
