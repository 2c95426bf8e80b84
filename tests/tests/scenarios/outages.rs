//! The backend is away, or its answers get lost: never two runs, and no tick without its account.

use std::time::Duration;

use tidelock::{ErrorKind, EventKind, Job, RunState, Scheduler};
use tidelock_memory::MemoryBackend;
use tidelock_tests::{Fault, Faults, Op};

use crate::fleet::{Diary, Fleet, at, in_state, ms, secs};
use crate::ledger::{each_told_once, held_by, never_two, open_runs, ran, records, ticks, until};

type Way = Faults<MemoryBackend>;

/// Three nodes, each with a way of its own to the backend, and a minutely job.
async fn fleet_of_three(
    fleet: &Fleet,
    takes: Duration,
    diary: &Diary,
) -> (Vec<Scheduler>, Vec<Way>) {
    let (mut nodes, mut ways) = (Vec::new(), Vec::new());
    for name in ["a", "b", "c"] {
        let way = Faults::new(fleet.backend.clone());
        let diary = diary.clone();
        let job = Job::new("j").cron("* * * * *").unwrap().run(move |run| {
            let open = diary.open(&run);
            async move {
                tokio::time::sleep(takes).await;
                drop(open);
            }
        });
        let node = fleet.node_over(way.clone(), fleet.clock.clone(), name);
        nodes.push(node.job(job).unwrap().start().await.unwrap());
        ways.push(way);
    }
    (nodes, ways)
}

fn cut(ways: &[Way], silently: bool) {
    for way in ways {
        if silently {
            way.link().cut_silently();
        } else {
            way.link().cut();
        }
    }
}

fn heal(ways: &[Way]) {
    ways.iter().for_each(|way| way.link().heal());
}

#[tokio::test(start_paused = true)]
async fn away_from_before_a_tick_until_after_it_the_tick_runs_late_and_once() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
        until(&fleet, "2026-01-01T12:00:50Z").await;
        cut(&ways, silently);
        until(&fleet, "2026-01-01T12:01:20Z").await;
        heal(&ways);
        until(&fleet, "2026-01-01T12:02:30Z").await;
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 3));
        assert_eq!(in_state(&told, RunState::Succeeded).len(), 3, "{told:#?}");
        // Within a try of when the backend came back.
        assert!(told[1].started <= at("2026-01-01T12:01:21.1Z"), "{told:#?}");
        assert!(nodes[0].health().failed_calls > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn away_over_several_ticks_the_newest_runs_and_the_others_are_told_once() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
        until(&fleet, "2026-01-01T12:00:30Z").await;
        cut(&ways, silently);
        until(&fleet, "2026-01-01T12:05:30Z").await;
        heal(&ways);
        until(&fleet, "2026-01-01T12:07:30Z").await;
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 8));
        assert_eq!(ran(&told), ["12:00:00", "12:05:00", "12:06:00", "12:07:00"]);
        assert_eq!(in_state(&told, RunState::Missed).len(), 1);
        never_two(&diary);
    }
}

/// The same reason in a row is one record; a run in between begins another.
#[tokio::test(start_paused = true)]
async fn ticks_missed_before_and_after_a_run_are_two_records() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (mut nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
    nodes.truncate(1);
    for minute in ["12:02:30", "12:05:30"] {
        cut(&ways, false);
        until(&fleet, &format!("2026-01-01T{minute}Z")).await;
        heal(&ways);
        tokio::time::sleep(secs(5)).await;
    }
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 6));
    assert_eq!(ran(&told), ["12:02:00", "12:05:00"]);
    assert_eq!(in_state(&told, RunState::Missed).len(), 2, "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn away_during_a_run_for_less_than_a_ttl_the_run_never_knows() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, secs(55), &diary).await;
        // Renewed at 10 s; what is not renewed by 34 s is told to stop.
        until(&fleet, "2026-01-01T12:00:11Z").await;
        cut(&ways, silently);
        until(&fleet, "2026-01-01T12:00:31Z").await;
        heal(&ways);
        until(&fleet, "2026-01-01T12:00:58Z").await;
        let told = records(&nodes).await;
        assert_eq!((told.len(), told[0].state), (1, RunState::Succeeded));
        assert_eq!(open_runs(&fleet, "j").await, 0);
    }
}

/// BR-075: the holder alone is cut off; another node runs the next tick, and what the late one
/// does then is nothing to it.
#[tokio::test(start_paused = true)]
async fn cut_off_during_a_run_for_more_than_a_ttl_the_run_is_dropped_before_the_next_begins() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, secs(300), &diary).await;
        until(&fleet, "2026-01-01T12:00:15Z").await;
        let first = diary.entries()[0].clone();
        let holder = ["a", "b", "c"]
            .iter()
            .position(|name| *name == first.node)
            .unwrap();
        cut(&ways[holder..=holder], silently);
        until(&fleet, "2026-01-01T12:01:10Z").await;
        let second = held_by(&fleet, "j").await.unwrap();
        assert_ne!(second, first.run_id);
        // Renewed at 10 s with a TTL of 30 s: gone by 37 s.
        assert_eq!(diary.entries()[1].run_id, first.run_id);
        assert!(diary.entries()[1].at - first.at <= secs(37));
        assert_eq!(nodes[holder].health().running, 0);
        heal(&ways);
        until(&fleet, "2026-01-01T12:03:30Z").await;
        assert_eq!(held_by(&fleet, "j").await, Some(second));
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 4));
        let state = |run| {
            told.iter()
                .find(|record| record.run_id == run)
                .unwrap()
                .state
        };
        assert_eq!(state(first.run_id), RunState::LockLost);
        assert_eq!(state(second), RunState::Running);
        never_two(&diary);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_any_call_of_a_run_changes_nothing() {
    let lost = [
        Fault::LoseReply,
        Fault::LoseRequest,
        Fault::HangReply,
        Fault::ArriveLate(secs(7)),
    ];
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
            assert_eq!(
                in_state(&told, RunState::Succeeded).len(),
                5,
                "{op:?} {fault:?} {told:#?}"
            );
            assert_eq!(
                (held_by(&fleet, "j").await, open_runs(&fleet, "j").await),
                (None, 0)
            );
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
    let too_late = RunState::Skipped(tidelock::SkipReason::TooLate);
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
    assert_eq!(in_state(&told, RunState::LockLost).len(), 1, "{told:#?}");
    assert_eq!(in_state(&told, RunState::Missed)[0].ticks.unwrap().count, 2);
    assert_eq!(diary.count("start"), 3);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_not_asked_again_and_again() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
    let mut events = nodes[0].events();
    ways.iter()
        .for_each(|way| way.everything(Fault::Fail(ErrorKind::Denied)));
    until(&fleet, "2026-01-01T12:09:30Z").await;
    assert_eq!((diary.entries().len(), ways[0].count(Op::Begin)), (0, 10));
    let given_up = |kind: &EventKind| matches!(kind, EventKind::TickGivenUp { .. });
    let told = std::iter::from_fn(|| events.try_next()).filter(|event| given_up(&event.kind));
    assert_eq!(told.count(), 10);
}
