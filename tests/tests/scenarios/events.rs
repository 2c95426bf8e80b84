//! What a scheduler tells of itself: events, health, the jobs and their next ticks.

use tidelock::{EventKind, RunState};

use crate::fleet::{Diary, Fleet, at, job, ms, secs};

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_the_scheduler_although_a_control_is_kept() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a").job(job("j", "* * * * *", secs(5), &diary)).unwrap();
    let node = node.start().await.unwrap();
    let (control, mut events) = (node.control(), node.events());
    tokio::time::sleep(secs(2)).await;
    let _ = node.shutdown(secs(60)).await;
    let mut last = None;
    while let Some(event) = tokio::time::timeout(secs(1), events.next()).await.unwrap() {
        last = Some(event.kind);
    }
    assert!(matches!(last, Some(EventKind::RunEnded { .. })), "{last:?}");
    assert!(control.events().next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_is_told_how_many_events_it_lost_and_holds_nothing_up() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a");
    let node = node.job(job("j", "* * * * * *", ms(10), &diary)).unwrap();
    let node = node.start().await.unwrap();
    let (mut slow, mut gone) = (node.events(), node.events());
    assert!(gone.try_next().is_none());
    drop(gone);
    tokio::time::sleep(secs(1_000)).await;
    assert_eq!(diary.count("end"), 1_000);
    let lost = match slow.next().await.unwrap().kind {
        EventKind::Lagged { lost } => lost,
        other => panic!("{other:?}"),
    };
    let mut heard = 0;
    while slow.try_next().is_some() {
        heard += 1;
    }
    // Each run begins and ends.
    assert_eq!((lost + heard, heard), (2_000, 1_024));
    let report = node.shutdown(secs(1)).await;
    assert_eq!(report.cancelled, 0);
    assert!(slow.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn events_tell_of_each_run_in_order() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a");
    let node = node.job(job("j", "* * * * *", secs(70), &diary)).unwrap();
    let node = node.start().await.unwrap();
    let mut events = node.events();
    tokio::time::sleep(secs(100)).await;
    let mut kinds = Vec::new();
    while let Some(event) = events.try_next() {
        assert_eq!(event.job.as_ref().unwrap().as_str(), "j");
        kinds.push(event.kind);
    }
    let [
        EventKind::RunStarted { run_id, occurrence },
        EventKind::TicksNotRun { state, ticks },
        EventKind::RunEnded { run_id: ended, state: RunState::Succeeded },
    ] = &kinds[..]
    else {
        panic!("{kinds:?}");
    };
    assert_eq!(occurrence.unwrap().at(), at("2026-01-01T12:00:00Z"));
    assert_eq!((ended, ticks.count), (run_id, 1));
    assert_eq!(*state, RunState::Skipped(tidelock::SkipReason::Overlap));
}

#[tokio::test(start_paused = true)]
async fn health_jobs_and_next_tell_where_a_scheduler_stands() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let builder = |name| {
        let node = fleet.node(name);
        let node = node.job(job("b", "*/5 * * * *", secs(30), &diary)).unwrap();
        node.job(job("a", "0 2 * * *", ms(10), &diary)).unwrap()
    };
    let node = builder("a").start().await.unwrap();
    let other = builder("b").start().await.unwrap();
    assert_eq!(node.health().last_good_call, None);
    tokio::time::sleep(secs(10)).await;
    let jobs = node.jobs();
    assert_eq!((jobs[0].id.as_str(), jobs[1].id.as_str()), ("a", "b"));
    assert_eq!(jobs[0].next.unwrap().at(), at("2026-01-02T02:00:00Z"));
    assert_eq!(jobs[1].next.unwrap().at(), at("2026-01-01T12:05:00Z"));
    let next = node.next("a", 2).unwrap();
    assert_eq!(next, [at("2026-01-02T02:00:00Z"), at("2026-01-03T02:00:00Z")]);
    assert_eq!(node.next("c", 2), None);
    let (here, there) = (node.health(), other.health());
    assert_eq!(here.running + there.running, 1);
    assert_eq!(jobs[1].running + other.jobs()[1].running, 1);
    assert_eq!((here.runs + there.runs, here.ticks_lost + there.ticks_lost), (1, 1));
    assert!(here.last_loop.unwrap() <= secs(30) && here.last_good_call.unwrap() <= secs(10));
    assert_eq!((here.failed_calls, here.unsaved_records, here.dropped_records), (0, 0, 0));
    assert_eq!(here.skew.unwrap().ahead.as_millis(), 0);
}
