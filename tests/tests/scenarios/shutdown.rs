//! Stopping a scheduler while it works.

use std::time::Duration;

use tidelock::{Job, RunState, Scheduler};
use tidelock_tests::{Fault, Faults, NodeSpawner, Op};
use tokio::time::Instant;

use crate::fleet::{Diary, Fleet, in_state, job, ms, secs};
use crate::ledger::{each_told_once, held_by, open_runs, ran, ticks};

/// A job that goes on until it is told to stop, and then for so long.
fn until_told(id: &str, then: Duration, diary: &Diary) -> Job {
    let diary = diary.clone();
    Job::new(id).cron("* * * * *").unwrap().run(move |run| {
        let diary = diary.clone();
        async move {
            diary.write(&run, "start");
            run.cancelled().await;
            tokio::time::sleep(then).await;
            diary.write(&run, "end");
        }
    })
}

async fn lock_is_free(fleet: &Fleet, id: &str) -> bool {
    held_by(fleet, id).await.is_none() && open_runs(fleet, id).await == 0
}

/// BR-050: the lock is renewed for as long as the run takes, and no other node begins.
#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_the_run_and_keeps_its_lock() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let long = || job("j", "* * * * *", secs(150), &diary);
    let a = fleet.node("a").job(long()).unwrap().start().await.unwrap();
    tokio::time::sleep(secs(5)).await;
    let b = fleet.node("b").job(long()).unwrap().start().await.unwrap();
    let begun = Instant::now();
    let report = a.shutdown(secs(600)).await;
    assert_eq!((report.cancelled, report.still_running.len()), (0, 0));
    assert_eq!(begun.elapsed().as_secs(), 145);
    assert!(lock_is_free(&fleet, "j").await);
    tokio::time::sleep(secs(60)).await;
    let records = b.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 4));
    assert_eq!(ran(&records), ["12:00:00", "12:03:00"]);
    assert_eq!(records.last().unwrap().state, RunState::Succeeded);
}

/// BR-086: a run that ends when it is told to, and one that has to be dropped.
#[tokio::test(start_paused = true)]
async fn past_the_deadline_runs_are_told_to_stop_then_dropped_and_recorded() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a");
    let node = node.job(until_told("meek", ms(300), &diary)).unwrap();
    let node = node.job(until_told("deaf", secs(99), &diary)).unwrap();
    let node = node.start().await.unwrap();
    let control = node.control();
    tokio::time::sleep(secs(5)).await;
    let begun = Instant::now();
    let report = node.shutdown(secs(3)).await;
    assert_eq!((report.cancelled, report.still_running.len()), (2, 0));
    // The deadline, and the grace of the deaf one.
    assert!((4_000..4_100).contains(&begun.elapsed().as_millis()));
    assert_eq!((diary.count("start"), diary.count("end")), (2, 1));
    for id in ["meek", "deaf"] {
        let records = control.history(id, 100).await.unwrap();
        assert_eq!((records.len(), records[0].state), (1, RunState::Cancelled));
        assert!(lock_is_free(&fleet, id).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tick_that_falls_due_during_a_shutdown_is_not_taken() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let jobs = || {
        let long = job("long", "0 12 * * *", secs(100), &diary);
        (long, job("j", "* * * * *", ms(10), &diary))
    };
    let (long, j) = jobs();
    let a = fleet.node("a").job(long).unwrap().job(j).unwrap();
    let a = a.start().await.unwrap();
    tokio::time::sleep(secs(5)).await;
    let control = a.control();
    assert_eq!(a.shutdown(secs(600)).await.cancelled, 0);
    assert_eq!(ran(&control.history("j", 100).await.unwrap()), ["12:00:00"]);
    assert!(control.add(jobs().1).is_err() && control.run_now("j").await.is_err());
    // The next node finds it missed, and catches up.
    let b = fleet.node("b").job(jobs().1).unwrap().start().await.unwrap();
    tokio::time::sleep(secs(5)).await;
    let records = b.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 2));
    assert_eq!(in_state(&records, RunState::Succeeded).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_tick_asked_for_just_before_is_answered_and_runs_if_the_deadline_allows() {
    for (deadline, state) in [(secs(30), RunState::Succeeded), (secs(0), RunState::Cancelled)] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let slow = Faults::new(fleet.backend.clone());
        slow.always(Op::Begin, Fault::DelayReply(secs(1)));
        let node = fleet.node_over(slow, fleet.clock.clone(), "a");
        let node = node.job(job("j", "* * * * *", secs(3), &diary)).unwrap();
        let node = node.start().await.unwrap();
        let control = node.control();
        tokio::time::sleep(ms(1_000)).await;
        let report = node.shutdown(deadline).await;
        assert_eq!((report.still_running.len(), report.unsaved_records), (0, 0));
        assert!(lock_is_free(&fleet, "j").await);
        let records = control.history("j", 100).await.unwrap();
        assert_eq!((records.len(), records[0].state), (1, state), "{records:#?}");
        // Past the deadline its handler is not even called.
        let ran = usize::from(state == RunState::Succeeded);
        assert_eq!((diary.count("start"), diary.count("end")), (ran, ran));
    }
}

/// BR-086: the process goes on without the scheduler.
#[tokio::test(start_paused = true)]
async fn dropping_the_handle_leaves_no_task_no_lock_and_no_run_without_its_end() {
    let (fleet, diary, tasks) = (Fleet::new(), Diary::default(), NodeSpawner::new());
    let node = fleet.node("a").spawner(tasks.clone());
    let node = node.job(until_told("meek", ms(0), &diary)).unwrap();
    let node = node.job(until_told("deaf", secs(99), &diary)).unwrap();
    let node = node.start().await.unwrap();
    let control = node.control();
    let mut events = control.events();
    tokio::time::sleep(secs(5)).await;
    assert!(tasks.tasks() > 0);
    drop(node);
    tokio::time::sleep(secs(2)).await;
    assert_eq!(tasks.tasks(), 0);
    for id in ["meek", "deaf"] {
        let records = control.history(id, 100).await.unwrap();
        assert_eq!((records.len(), records[0].state), (1, RunState::Cancelled));
        assert!(lock_is_free(&fleet, id).await);
    }
    drop(control);
    while events.next().await.is_some() {}
}

/// BR-086: the second signal, while the first one's shutdown still waits.
#[tokio::test(start_paused = true)]
async fn a_shutdown_that_is_dropped_stops_at_once_what_it_waited_for() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a").job(until_told("j", ms(0), &diary)).unwrap();
    let node = node.start().await.unwrap();
    let control = node.control();
    tokio::time::sleep(secs(5)).await;
    let first = tokio::time::timeout(secs(2), node.shutdown(secs(600)));
    assert!(first.await.is_err());
    tokio::time::sleep(ms(1)).await;
    let records = control.history("j", 100).await.unwrap();
    assert_eq!(records[0].state, RunState::Cancelled);
    assert!(lock_is_free(&fleet, "j").await);
}

async fn idle(fleet: &Fleet, faults: &Faults<tidelock_memory::MemoryBackend>) -> Scheduler {
    let mut node = fleet.node_over(faults.clone(), fleet.clock.clone(), "a");
    for n in 0..2_000 {
        let rare = Job::new(format!("j{n}")).cron("0 0 1 1 *").unwrap();
        node = node.job(rare.run(|_| async {})).unwrap();
    }
    node.start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn with_nothing_to_wait_for_a_shutdown_returns_at_once_whatever_its_deadline() {
    for deadline in [0, 600] {
        let fleet = Fleet::new();
        let faults = Faults::new(fleet.backend.clone());
        // Nothing answers, and two thousand jobs have yet to be looked up.
        faults.everything(Fault::Hang);
        let node = idle(&fleet, &faults).await;
        tokio::time::sleep(secs(5)).await;
        let begun = Instant::now();
        let report = node.shutdown(secs(deadline)).await;
        assert_eq!((report.cancelled, report.unsaved_records), (0, 0));
        assert!(begun.elapsed() < secs(1), "{:?}", begun.elapsed());
    }
}
