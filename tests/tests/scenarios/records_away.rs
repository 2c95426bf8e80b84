//! The record store is away while the locks work.

use std::time::Duration;

use tidelock::{
    Combined, ErrorKind, EventKind, Job, JobId, NodeId, Record, RecordStore, RunId, RunState,
    Scheduler,
};
use tidelock_memory::MemoryBackend;
use tidelock_tests::{Fault, Faults, Op};

use crate::fleet::{Diary, Fleet, ahead, at, in_state, job, ms, secs};
use crate::ledger::{each_told_once, ticks, until};

/// A node with its locks in the fleet's backend and its records behind that way.
async fn combined(fleet: &Fleet, way: &Faults<MemoryBackend>, job: Job) -> Scheduler {
    let backend = Combined::new(fleet.backend.clone(), way.clone());
    let node = fleet.node_over(backend, fleet.clock.clone(), "a");
    node.job(job).unwrap().start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn runs_go_on_while_the_record_store_is_away_and_their_records_arrive_later() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let way = Faults::new(MemoryBackend::new());
        let node = combined(&fleet, &way, job("j", "* * * * *", secs(5), &diary)).await;
        until(&fleet, "2026-01-01T12:00:30Z").await;
        if silently {
            way.link().cut_silently();
        } else {
            way.link().cut();
        }
        until(&fleet, "2026-01-01T12:10:30Z").await;
        assert_eq!((diary.count("start"), diary.count("end")), (11, 11));
        assert_eq!(node.health().unsaved_records, 10);
        way.link().heal();
        tokio::time::sleep(secs(6)).await;
        assert_eq!(node.health().unsaved_records, 0);
        let told = node.history("j", 100).await.unwrap();
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 11));
        assert_eq!(in_state(&told, RunState::Succeeded).len(), 11);
        // In their order, and on time.
        for run in &told {
            let late = run.started.duration_since(run.occurrence.unwrap().at());
            assert!(late < ahead(10), "{run:#?}");
        }
        assert!(told.windows(2).all(|two| two[0].occurrence > two[1].occurrence));
    }
}

#[tokio::test(start_paused = true)]
async fn of_more_than_ten_thousand_records_that_wait_the_oldest_go_and_are_counted() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(MemoryBackend::new().keep(100_000));
    way.link().cut();
    let node = combined(&fleet, &way, job("j", "* * * * * *", ms(1), &diary)).await;
    let mut events = node.events();
    let mut dropped = 0;
    for _ in 0..1_003 {
        tokio::time::sleep(secs(10)).await;
        while let Some(event) = events.try_next() {
            match event.kind {
                EventKind::RecordsDropped { count } => dropped += count,
                EventKind::Lagged { .. } => panic!("the test is too slow a listener"),
                _ => {}
            }
        }
    }
    assert_eq!(diary.count("end"), 10_030);
    assert_eq!(dropped, 30);
    let health = node.health();
    assert_eq!((health.unsaved_records, health.dropped_records), (10_000, 30));
    way.link().heal();
    let control = node.control();
    let report = node.shutdown(secs(60)).await;
    assert_eq!((report.unsaved_records, report.dropped_records), (0, 30));
    let told = control.history("j", 100_000).await.unwrap();
    assert_eq!(told.len(), 10_000);
    assert_eq!(told[9_999].occurrence.unwrap().at().to_string(), "2026-01-01T12:00:30Z");
}

#[tokio::test(start_paused = true)]
async fn what_a_shutdown_could_not_store_is_in_its_report() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(MemoryBackend::new());
    let node = combined(&fleet, &way, job("j", "* * * * *", secs(5), &diary)).await;
    tokio::time::sleep(secs(1)).await;
    way.everything(Fault::Hang);
    let begun = tokio::time::Instant::now();
    let report = node.shutdown(secs(10)).await;
    assert_eq!((report.cancelled, report.unsaved_records), (0, 1));
    // Until 3 s after the deadline, which no run needed.
    assert_eq!(begun.elapsed().as_secs(), 13);
}

/// What waits for its next try is tried at once when there is an end to the waiting.
#[tokio::test(start_paused = true)]
async fn a_shutdown_stores_what_a_store_that_has_come_back_was_not_asked_to_take_yet() {
    for deadline in [secs(0), secs(10)] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let way = Faults::new(MemoryBackend::new());
        let node = combined(&fleet, &way, job("j", "* * * * *", secs(5), &diary)).await;
        until(&fleet, "2026-01-01T12:00:30Z").await;
        way.link().cut();
        until(&fleet, "2026-01-01T12:20:30Z").await;
        // The waits between two tries are five seconds by now.
        let tried = way.count(Op::Save);
        while way.count(Op::Save) == tried {
            tokio::time::sleep(ms(1)).await;
        }
        way.link().heal();
        let (control, begun) = (node.control(), tokio::time::Instant::now());
        assert_eq!(node.shutdown(deadline).await.unsaved_records, 0);
        assert!(begun.elapsed() < secs(1), "{:?}", begun.elapsed());
        assert_eq!(
            in_state(&control.history("j", 100).await.unwrap(), RunState::Succeeded).len(),
            21
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_is_shown_while_nothing_can_be_closed() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (locks, store) = (Faults::new(fleet.backend.clone()), Faults::new(MemoryBackend::new()));
    let node =
        fleet.node_over(Combined::new(locks.clone(), store.clone()), fleet.clock.clone(), "a");
    let node = node.job(job("j", "0 0 1 1 *", secs(5), &diary)).unwrap().start().await.unwrap();
    // What a node that has died since left open.
    let (id, dead) = (JobId::new("j").unwrap(), NodeId::new("dead").unwrap());
    let left = Record::new(RunId::new(1), id, dead, RunState::Running, at("2026-01-01T11:00:00Z"));
    store.save(&left).await.unwrap();
    for (way, op) in [(&store, Op::Save), (&locks, Op::Inspect)] {
        way.always(op, Fault::Fail(ErrorKind::Unavailable));
        let told = node.history("j", 10).await.unwrap();
        assert_eq!(told.iter().map(|r| r.state).collect::<Vec<_>>(), [RunState::Running]);
        way.clear();
    }
    assert_eq!(node.history("j", 10).await.unwrap()[0].state, RunState::Abandoned);
    store.always(Op::List, Fault::Fail(ErrorKind::Unavailable));
    assert!(node.history("j", 10).await.is_err(), "there is nothing to show");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_counts_the_record_of_a_run_that_was_granted_too_late_to_begin() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let locks = Faults::new(fleet.backend.clone());
    locks.next(Op::Acquire, Fault::DelayReply(ms(300)));
    let backend = Combined::new(locks.clone(), MemoryBackend::new());
    let node = fleet.node_over(backend, fleet.clock.clone(), "a");
    let job = job("j", "* * * * *", secs(1), &diary);
    let node = node.job(job).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:00.1Z").await;
    // The lock cannot be given up: the record, which goes with that, has not been tried yet.
    locks.always(Op::Release, Fault::LoseRequest);
    let report = node.shutdown(Duration::ZERO).await;
    assert_eq!((report.cancelled, report.still_running.len(), report.unsaved_records), (0, 0, 1));
    assert_eq!(diary.count("start"), 0);
}
