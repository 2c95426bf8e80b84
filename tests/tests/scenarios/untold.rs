//! Ticks that did not run are told of once, whoever dies before it has told.

use tidelock::{
    AcquireRequest, Acquisition, Holder, Intent, JobId, LockBackend, LockKey, NodeId, RunId,
    RunState, SkipReason,
};
use tidelock_tests::{Fault, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, in_state, job, ms, secs};
use crate::ledger::{each_told_once, ticks, until};
use crate::node::{Node, assert_tidy, lock, stored, tick};

const OVERLAP: RunState = RunState::Skipped(SkipReason::Overlap);

/// A node whose next question is answered to nobody, and which dies then.
async fn dies_unheard(fleet: &Fleet, name: &str, asks_at: &str, diary: &Diary) {
    let node = Node::start(fleet, name, [job("j", "* * * * *", ms(10), diary)]).await;
    node.faults.next(Op::Begin, Fault::HangReply);
    until(fleet, asks_at).await;
    sleep(ms(100)).await;
    node.spawner.kill();
}

#[tokio::test(start_paused = true)]
async fn ticks_skipped_by_nodes_that_die_are_told_of_by_the_next_in_one_record() {
    for next_skips in [true, false] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let lasts = secs(if next_skips { 210 } else { 150 });
        let long = Node::start(&fleet, "long", [job("j", "* * * * *", lasts, &diary)]).await;
        until(&fleet, "2026-01-01T12:00:10Z").await;
        long.faults.always(Op::Begin, Fault::Hang);
        for (name, at) in [("a", "2026-01-01T12:01:00Z"), ("b", "2026-01-01T12:02:00Z")] {
            dies_unheard(&fleet, name, at, &diary).await;
        }
        assert_eq!(stored(&fleet, "j").await.len(), 1, "nobody has told yet");
        let c = Node::start(&fleet, "c", [job("j", "* * * * *", ms(10), &diary)]).await;
        until(&fleet, "2026-01-01T12:04:30Z").await;
        let records = stored(&fleet, "j").await;
        each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 5));
        let skipped = in_state(&records, OVERLAP);
        let told: Vec<_> = skipped.iter().map(|row| row.ticks.map(|ticks| ticks.count)).collect();
        assert_eq!(told, [Some(if next_skips { 3 } else { 2 })], "{records:#?}");
        assert_eq!(skipped[0].blocked_by, Some(records[0].run_id));
        assert_tidy(&fleet, "j").await;
        drop((long, c));
    }
}

#[tokio::test(start_paused = true)]
async fn ticks_passed_over_by_a_grant_that_nobody_heard_of_are_told_of_with_its_end() {
    for by_hand in [false, true] {
        passed_over_unheard(by_hand).await;
    }
}

/// What tells of them is the next tick, or a run by hand before it.
async fn passed_over_unheard(by_hand: bool) {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let a = Node::start(&fleet, "a", [job("j", "* * * * *", ms(10), &diary)]).await;
    until(&fleet, "2026-01-01T12:00:10Z").await;
    a.spawner.kill();
    until(&fleet, "2026-01-01T12:04:10Z").await;
    // It runs the newest of those that were missed.
    dies_unheard(&fleet, "b", "2026-01-01T12:04:10Z", &diary).await;
    let c = Node::start(&fleet, "c", [job("j", "* * * * *", ms(10), &diary)]).await;
    if by_hand {
        until(&fleet, "2026-01-01T12:04:50Z").await;
        c.scheduler.run_now("j").await.unwrap();
    }
    until(&fleet, "2026-01-01T12:06:30Z").await;
    let records = stored(&fleet, "j").await;
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 7));
    let missed = in_state(&records, RunState::Missed);
    assert_eq!(missed[0].ticks.map(|ticks| ticks.count), Some(3), "{records:#?}");
    assert_eq!(missed[0].node.as_str(), "b", "it moved the mark");
    assert_tidy(&fleet, "j").await;
    drop(c);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_came_to_tell_is_recorded_when_the_history_is_read() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let lasts = secs(90);
    let long = Node::start(&fleet, "long", [job("j", "* * * * *", lasts, &diary)]).await;
    until(&fleet, "2026-01-01T12:00:10Z").await;
    long.faults.always(Op::Begin, Fault::Hang);
    dies_unheard(&fleet, "a", "2026-01-01T12:01:00Z", &diary).await;
    until(&fleet, "2026-01-01T12:01:40Z").await;
    assert_eq!(stored(&fleet, "j").await.len(), 1);
    let reader = Node::start(&fleet, "reader", []).await;
    for _ in 0..2 {
        let records = reader.scheduler.history("j", 10).await.unwrap();
        assert_eq!(in_state(&records, OVERLAP).len(), 1, "{records:#?}");
        assert_eq!(stored(&fleet, "j").await.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn ticks_passed_over_unheard_are_told_though_the_mark_has_moved_on_since() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let a = Node::start(&fleet, "a", [job("j", "* * * * *", ms(10), &diary)]).await;
    until(&fleet, "2026-01-01T12:00:10Z").await;
    a.spawner.kill();
    until(&fleet, "2026-01-01T12:04:10Z").await;
    let b = Node::start(&fleet, "b", [job("j", "* * * * *", ms(10), &diary)]).await;
    b.faults.next(Op::Begin, Fault::LoseReply);
    b.faults.always(Op::Begin, Fault::LoseRequest);
    until(&fleet, "2026-01-01T12:04:45Z").await;
    let looks = b.faults.count(Op::Inspect);
    b.faults.next(Op::Inspect, Fault::Delay(ms(1_500)));
    b.faults.next(Op::Begin, Fault::Delay(ms(1)));
    while b.faults.count(Op::Inspect) == looks {
        sleep(ms(10)).await;
    }
    // Another one moves the mark past a tick, while it is looked for what the grant was told.
    let mark = lock(&fleet, "j").await.mark.unwrap();
    assert_eq!(mark.node.as_str(), "b");
    let (node, run) = (NodeId::new("other").unwrap(), RunId::new(1));
    let mut skip = AcquireRequest::new(
        LockKey::of(&JobId::new("j").unwrap()),
        Holder::new(&node, 1),
        run,
        node,
        Some(tick("2026-01-01T12:05:00Z")),
        mark.point.fingerprint,
        secs(30),
    );
    skip.after = Some(mark.point.occurrence);
    skip.max_ahead = secs(60);
    skip.intent = Intent::Skip(SkipReason::Misfire);
    let answer = fleet.backend.acquire(&skip).await.unwrap().value;
    assert!(matches!(answer, Acquisition::Consumed(_)), "{answer:?}");
    b.faults.clear();
    until(&fleet, "2026-01-01T12:06:30Z").await;
    let records = stored(&fleet, "j").await;
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 7));
    assert_tidy(&fleet, "j").await;
}
