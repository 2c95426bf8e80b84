//! Requests and answers get lost: what was asked is asked again, and the first answer counts.

use tidelock::{ErrorKind, EventKind, RunState, SkipReason};
use tidelock_tests::{Fault, Op};

use crate::fleet::{Diary, Fleet, in_state, ms, secs};
use crate::ledger::{each_told_once, held_by, never_two, open_runs, ran, records, ticks, until};
use crate::ways::{cut, fleet_of_three, heal};

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_any_call_of_a_run_changes_nothing() {
    let lost = [Fault::LoseReply, Fault::LoseRequest, Fault::HangReply, Fault::ArriveLate(secs(7))];
    for op in [Op::Begin, Op::Renew, Op::Finish, Op::Inspect] {
        for fault in lost {
            let (fleet, diary) = (Fleet::new(), Diary::default());
            let (nodes, ways) = fleet_of_three(&fleet, secs(25), &diary).await;
            for way in &ways {
                // In each tick's run, twice in a row.
                way.next(op, fault);
                way.next(op, fault);
            }
            until(&fleet, "2026-01-01T12:04:59Z").await;
            let told = records(&nodes).await;
            each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 5));
            assert_eq!(in_state(&told, RunState::Succeeded).len(), 5, "{op:?} {fault:?} {told:#?}");
            assert_eq!((held_by(&fleet, "j").await, open_runs(&fleet, "j").await), (None, 0));
            never_two(&diary);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_is_heard_of_too_late_is_told_and_given_back() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (mut nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
    nodes.truncate(1);
    until(&fleet, "2026-01-01T12:00:59Z").await;
    // It takes the tick and says nothing until its successor is due.
    ways[0].always(Op::Begin, Fault::HangReply);
    until(&fleet, "2026-01-01T12:02:05Z").await;
    ways[0].clear();
    until(&fleet, "2026-01-01T12:03:05Z").await;
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 4));
    assert_eq!(ran(&told), ["12:00:00", "12:02:00", "12:03:00"]);
    let too_late = RunState::Skipped(SkipReason::TooLate);
    assert_eq!(in_state(&told, too_late).len(), 1, "{told:#?}");
    assert_eq!(open_runs(&fleet, "j").await, 0);
}

/// A moment of connection within a long outage: the grant is heard of when its lock has expired.
#[tokio::test(start_paused = true)]
async fn a_grant_whose_lock_expired_unheard_tells_of_the_ticks_before_it_all_the_same() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (mut nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
    nodes.truncate(1);
    until(&fleet, "2026-01-01T12:00:30Z").await;
    cut(&ways, false);
    until(&fleet, "2026-01-01T12:03:35Z").await;
    ways[0].next(Op::Begin, Fault::LoseReply);
    heal(&ways);
    while held_by(&fleet, "j").await.is_none() {
        tokio::time::sleep(ms(1)).await;
    }
    cut(&ways, false);
    until(&fleet, "2026-01-01T12:04:15Z").await;
    heal(&ways);
    until(&fleet, "2026-01-01T12:05:05Z").await;
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 6));
    let lost = in_state(&told, RunState::LockLost);
    assert!(lost.len() == 1 && lost[0].token.is_some(), "{told:#?}");
    assert_eq!(in_state(&told, RunState::Missed)[0].ticks.unwrap().count, 2);
    assert_eq!(diary.count("start"), 3);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_not_asked_again_and_again() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
    let mut events = nodes[0].events();
    ways.iter().for_each(|way| way.everything(Fault::Fail(ErrorKind::Denied)));
    until(&fleet, "2026-01-01T12:09:30Z").await;
    assert_eq!((diary.entries().len(), ways[0].count(Op::Begin)), (0, 10));
    let given_up = |kind: &EventKind| matches!(kind, EventKind::TickGivenUp { .. });
    let told = std::iter::from_fn(|| events.try_next()).filter(|event| given_up(&event.kind));
    assert_eq!(told.count(), 10);
}
