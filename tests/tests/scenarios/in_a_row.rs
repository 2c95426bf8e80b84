//! Ticks that did not run for one reason in a row are one record, and no others.

use tidelock::RunState;

use crate::fleet::{Diary, Fleet, job, secs};
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
