//! Clocks that differ: what the mark is for.

use std::collections::BTreeSet;

use tidelock::{Combined, Job, RunState};
use tidelock_tests::TestClock;
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::node::stored;
use crate::plain_lock::PlainLock;

/// Five clocks, up to 5 s apart and drifting by 200 ppm.
fn clocks(fleet: &Fleet) -> [(&'static str, TestClock); 5] {
    let clock = |ms, ppm| fleet.clock.skewed(ahead(ms)).drifting(ppm);
    [
        ("a", clock(0, 0)),
        ("b", clock(-2_000, -200)),
        ("c", clock(3_000, 200)),
        ("d", clock(700, 200)),
        ("e", clock(-300, -50)),
    ]
}

fn each_second(diary: &Diary) -> Job {
    job("j", "* * * * * *", ms(10), diary)
}

#[tokio::test(start_paused = true)]
async fn with_clocks_five_seconds_apart_each_of_ten_thousand_ticks_runs_once() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let start = tokio::time::Instant::now();
    let mut nodes = Vec::new();
    for (name, clock) in clocks(&fleet) {
        let node = fleet.node_over(fleet.backend.clone(), clock, name);
        let node = node.job(each_second(&diary)).unwrap();
        nodes.push(node.start().await.unwrap());
    }
    sleep(secs(10_000)).await;
    let entries = diary.entries();
    let ticks: BTreeSet<_> = entries.iter().map(|entry| entry.occurrence).collect();
    let starts = diary.count("start");
    // Up to one more: the node ahead by less than `max_ahead` may be early.
    assert!((10_000..=10_001).contains(&starts), "{starts}");
    assert_eq!(ticks.len(), starts, "a tick ran twice");
    for entry in entries.iter().filter(|entry| entry.what == "start") {
        let true_ms = START_MS + i64::try_from((entry.at - start).as_millis()).unwrap();
        let early = entry.occurrence.unwrap().as_millisecond() - true_ms;
        assert!((-1..=1_000).contains(&early), "early by {early} ms");
    }
    drop(nodes);
    sleep(secs(1)).await;
    let records = stored(&fleet, "j").await;
    let all_ran = records.iter().all(|r| r.state == RunState::Succeeded);
    assert!(all_ran && records.len() == starts, "a tick is missing");
    let by: BTreeSet<_> = records.iter().map(|record| record.node.as_str()).collect();
    assert!(by.len() > 1, "one node alone ran everything: {by:?}");
}

/// 2026-01-01T11:59:59.5Z
const START_MS: i64 = 1_767_268_799_500;

/// The same fleet over a lock that does its part in full and knows no mark: it is the mark that
/// makes a tick unrepeatable.
#[tokio::test(start_paused = true)]
async fn with_a_plain_lock_the_same_fleet_repeats_ticks() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let mut nodes = Vec::new();
    for (name, clock) in clocks(&fleet) {
        let plain = Combined::new(PlainLock(fleet.backend.clone()), fleet.backend.clone());
        let node = fleet.node_over(plain, clock, name);
        let node = node.job(each_second(&diary)).unwrap();
        nodes.push(node.start().await.unwrap());
    }
    sleep(secs(100)).await;
    let entries = diary.entries();
    let ticks: BTreeSet<_> = entries.iter().map(|entry| entry.occurrence).collect();
    let starts = diary.count("start");
    assert!(starts > 2 * ticks.len(), "{starts} runs of {}", ticks.len());
}
