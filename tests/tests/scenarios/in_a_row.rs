//! Ticks that did not run for one reason in a row are one record, and no others.

use tidelock::RunState;

use crate::fleet::{Diary, Fleet, ahead, job, secs};
use crate::ledger::{each_told_once, ticks, until};
use crate::node::{Node, stored};

#[tokio::test(start_paused = true)]
async fn ticks_skipped_before_and_after_a_run_that_the_node_never_heard_of_are_two_records() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let jobs = || vec![job("j", "* * * * *", secs(5), &diary)];
    let a = Node::start(&fleet, "a", jobs()).await;
    a.scheduler.run_now("j").await.unwrap();
    until(&fleet, "2026-01-01T12:00:10Z").await;
    a.spawner.freeze();
    let b = Node::start(&fleet, "b", jobs()).await;
    until(&fleet, "2026-01-01T12:01:59Z").await;
    b.scheduler.run_now("j").await.unwrap();
    b.faults.link().cut();
    until(&fleet, "2026-01-01T12:02:01Z").await;
    a.spawner.thaw();
    until(&fleet, "2026-01-01T12:02:02Z").await;
    b.faults.link().heal();
    until(&fleet, "2026-01-01T12:02:30Z").await;
    let told = stored(&fleet, "j").await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 3));
    let skipped = |r: &&tidelock::Record| r.state != RunState::Succeeded;
    assert_eq!(told.iter().filter(skipped).count(), 2, "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_row_ends_where_a_tick_ran_and_is_one_whoever_skips() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let jobs = || vec![job("j", "* * * * *", secs(150), &diary)];
    let a = Node::start(&fleet, "a", jobs()).await;
    // Always a little later than the other.
    let b = Node::start_with(&fleet, "b", fleet.clock.skewed(ahead(-50)), jobs()).await;
    until(&fleet, "2026-01-01T12:01:10Z").await;
    a.spawner.freeze();
    // Meanwhile the other node runs 12:02 and skips 12:03.
    until(&fleet, "2026-01-01T12:03:10Z").await;
    a.spawner.thaw();
    until(&fleet, "2026-01-01T12:04:20Z").await;
    let told = stored(&fleet, "j").await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 5));
    let rows = told.iter().filter(|record| record.state.is_tick_not_run());
    let rows: Vec<_> = rows.map(|row| row.ticks.map_or(0, |ticks| ticks.count)).collect();
    assert_eq!(rows, [1, 2], "12:01, and 12:03 by the one and 12:04 by the other: {told:#?}");
    drop((a, b));
}
