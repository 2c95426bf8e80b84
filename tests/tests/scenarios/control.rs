//! Working a scheduler that runs: jobs come and go, runs are asked for, and it tells what it does.

use std::sync::{Arc, Mutex};

use tidelock::{Job, JobError, RunNowError, RunState};

use crate::fleet::{Diary, Fleet, in_state, job, ms, secs};
use crate::ledger::{each_told_once, ran, ticks};

#[tokio::test(start_paused = true)]
async fn a_job_runs_from_when_it_is_added_until_it_is_removed() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a").start().await.unwrap();
    tokio::time::sleep(secs(60)).await;
    node.add(job("j", "* * * * *", ms(10), &diary)).unwrap();
    assert_eq!(node.jobs().len(), 1);
    tokio::time::sleep(secs(120)).await;
    assert!(node.remove("j"));
    assert!(node.jobs().is_empty());
    tokio::time::sleep(secs(120)).await;
    // It has missed nothing of the time before it was there.
    each_told_once(&node.history("j", 100).await.unwrap(), &ticks("2026-01-01T12:01:00Z", 60, 2));
    let report = node.shutdown(secs(1)).await;
    assert_eq!(report.cancelled, 0);
}

/// BR-080: true exactly once each, wherever it is called from; the run goes on to its end.
#[tokio::test(start_paused = true)]
async fn a_job_that_removes_itself_ends_its_run_and_has_no_later_tick() {
    let fleet = Fleet::new();
    let node = fleet.node("a").start().await.unwrap();
    let (control, removed) = (node.control(), Arc::new(Mutex::new(Vec::new())));
    let answers = removed.clone();
    let suicidal = Job::new("j").cron("* * * * *").unwrap().run(move |_| {
        let (control, answers) = (control.clone(), answers.clone());
        async move {
            answers.lock().unwrap().push(control.remove("j"));
            tokio::time::sleep(secs(90)).await;
            answers.lock().unwrap().push(control.remove("j"));
        }
    });
    node.add(suicidal).unwrap();
    tokio::time::sleep(secs(200)).await;
    assert_eq!(*removed.lock().unwrap(), [true, false]);
    let records = node.history("j", 100).await.unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].state, RunState::Succeeded);
    assert_eq!(node.shutdown(secs(1)).await.cancelled, 0);
}

/// BR-080: remove during the run, then stop at once.
#[tokio::test(start_paused = true)]
async fn a_thousand_running_jobs_can_be_removed_at_once_and_the_stop_waits_for_their_runs() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a").start().await.unwrap();
    for n in 0..1_000 {
        let minutely = job(&format!("j{n}"), "* * * * *", secs(20), &diary);
        node.add(minutely).unwrap();
    }
    tokio::time::sleep(secs(2)).await;
    assert_eq!(node.health().running, 1_000);
    for n in 0..1_000 {
        assert!(node.remove(&format!("j{n}")));
        assert!(!node.remove(&format!("j{n}")));
    }
    let begun = tokio::time::Instant::now();
    let report = node.shutdown(secs(60)).await;
    assert_eq!((report.cancelled, report.still_running.len()), (0, 0));
    assert!(begun.elapsed() < secs(20), "{:?}", begun.elapsed());
    assert_eq!((diary.count("start"), diary.count("end")), (1_000, 1_000));
}

#[tokio::test(start_paused = true)]
async fn replacing_a_job_under_the_same_schedule_loses_and_repeats_no_tick() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a").start().await.unwrap();
    node.add(job("j", "*/10 * * * * *", ms(10), &diary)).unwrap();
    // Before, at, in and after ticks.
    for wait in [5_000, 4_500, 1, 5, 9_000, 10_000, 20_000, 499, 1] {
        tokio::time::sleep(ms(wait)).await;
        node.replace(job("j", "*/10 * * * * *", ms(10), &diary)).unwrap();
    }
    tokio::time::sleep(secs(30)).await;
    let records = node.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 10, 8));
    assert_eq!(in_state(&records, RunState::Succeeded).len(), 8);
}

#[tokio::test(start_paused = true)]
async fn replacing_a_job_leaves_the_run_of_the_old_one_alone_and_another_schedule_begins_now() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a").start().await.unwrap();
    node.add(job("j", "* * * * *", secs(25), &diary)).unwrap();
    tokio::time::sleep(secs(10)).await;
    node.replace(job("j", "*/20 * * * * *", ms(10), &diary)).unwrap();
    tokio::time::sleep(secs(51)).await;
    let records = node.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 20, 4));
    assert_eq!(ran(&records), ["12:00:00", "12:00:40", "12:01:00"]);
    let first = records.last().unwrap();
    assert_eq!(first.state, RunState::Succeeded);
    // The old run was in the way of the new schedule's first tick, and that is told.
    let skipped = records.iter().find(|r| r.ticks.is_some()).unwrap();
    assert_eq!(skipped.blocked_by, Some(first.run_id));
}

#[tokio::test(start_paused = true)]
async fn run_now_runs_beside_the_schedule_and_consumes_no_tick() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let minutely = |takes| job("j", "* * * * *", takes, &diary);
    let a = fleet.node("a").job(minutely(secs(5))).unwrap();
    let b = fleet.node("b").job(minutely(secs(5))).unwrap();
    let (a, b) = (a.start().await.unwrap(), b.start().await.unwrap());
    tokio::time::sleep(secs(30)).await;
    let granted = a.run_now("j").await.unwrap();
    // Another one, from any node, hears who holds the lock.
    match b.run_now("j").await {
        Err(RunNowError::Held { run_id, node }) => {
            assert_eq!((run_id, node.as_str()), (granted, "a"));
        }
        other => panic!("{other:?}"),
    }
    let unknown = a.run_now("k").await;
    assert!(matches!(&unknown, Err(RunNowError::UnknownJob(id)) if id == "k"));
    tokio::time::sleep(secs(60)).await;
    let records = b.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 2));
    let manual = records.iter().find(|r| r.run_id == granted).unwrap();
    assert_eq!((manual.occurrence, manual.state), (None, RunState::Succeeded));
    // A tick that falls due during a manual run is skipped, and the record says for what.
    tokio::time::sleep(secs(27)).await;
    let in_the_way = a.run_now("j").await.unwrap();
    tokio::time::sleep(secs(10)).await;
    let records = b.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 3));
    assert_eq!(records[0].blocked_by, Some(in_the_way));
}

/// BR-082: ids are compared byte by byte, before the start and after, from any thread.
#[tokio::test(start_paused = true)]
async fn a_second_job_of_one_id_is_refused_before_and_after_the_start() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let x = |id| job(id, "* * * * *", ms(10), &diary);
    let builder = fleet.node("a").job(x("x")).unwrap();
    let twice = builder.job(x("x"));
    assert!(matches!(twice, Err(JobError::Duplicate(_))));
    let node = fleet.node("a").job(x("x")).unwrap().start().await.unwrap();
    assert!(matches!(node.add(x("x")), Err(JobError::Duplicate(_))));
    assert!(matches!(node.add(x(" x")), Err(JobError::Id(_))));
    assert!(matches!(node.add(x("x ")), Err(JobError::Id(_))));
    node.add(x("X")).unwrap();
    node.replace(x("x")).unwrap();
    assert_eq!(node.jobs().len(), 2);
    let runtime = tokio::runtime::Handle::current();
    let added = std::thread::scope(|scope| {
        let add = || {
            let _inside = runtime.enter();
            node.add(x("y")).is_ok()
        };
        [scope.spawn(add), scope.spawn(add)].map(|thread| thread.join().unwrap())
    });
    assert_eq!(added.iter().filter(|won| **won).count(), 1);
}
