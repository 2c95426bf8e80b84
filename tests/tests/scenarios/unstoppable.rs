//! Code past its timeout that cannot be stopped: threads, and what does not yield.

use jiff::Timestamp;
use tidelock::{
    Clock, Control, EventKind, Job, JobBuilder, JobError, Record, RunState, Scheduler, SkipReason,
    SystemClock,
};
use tidelock_tests::NodeSpawner;

use crate::fleet::{Diary, Fleet, in_state, job, ms, secs};
use crate::ledger::{each_told_once, held_by, open_runs, ran, ticks, until};
use crate::timeouts::{minutely, newest};

/// A thread that takes 90 s.
async fn on_a_thread(fleet: &Fleet, shape: impl Fn(JobBuilder) -> JobBuilder) -> Scheduler {
    let threads = NodeSpawner::new();
    threads.blocking_takes(secs(90));
    let job = shape(minutely()).run_blocking(|_| ());
    let node = fleet.node("a").spawner(threads).job(job).unwrap();
    node.start().await.unwrap()
}

/// BR-074: with a thread.
#[tokio::test(start_paused = true)]
async fn a_thread_past_its_timeout_keeps_its_lock_until_it_ends_and_its_record_says_so() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = on_a_thread(&fleet, |job| job).await;
    let other = fleet.node("b").job(job("j", "* * * * *", secs(1), &diary)).unwrap();
    let mut events = node.events();
    let other = other.start().await.unwrap();
    // Timeout, grace, and a second in which what can be dropped would have ended.
    until(&fleet, "2026-01-01T12:00:06.9Z").await;
    assert!(!newest(&node).await.still_running);
    until(&fleet, "2026-01-01T12:00:07.1Z").await;
    let running = newest(&other).await;
    assert_eq!((running.state, running.still_running), (RunState::Running, true));
    // Far beyond a TTL, and over a tick.
    until(&fleet, "2026-01-01T12:01:29Z").await;
    assert_eq!(held_by(&fleet, "j").await, Some(running.run_id));
    until(&fleet, "2026-01-01T12:02:02Z").await;
    let records = other.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 3));
    let ended = records.iter().find(|r| r.run_id == running.run_id).unwrap();
    assert_eq!((ended.state, ended.still_running), (RunState::TimedOut, false));
    let skipped = in_state(&records, RunState::Skipped(SkipReason::Overlap));
    assert_eq!(skipped[0].blocked_by, Some(running.run_id));
    assert_eq!(ran(&records), ["12:00:00", "12:02:00"]);
    let mut overdue = 0;
    while let Some(event) = events.try_next() {
        let run_id = running.run_id;
        overdue += usize::from(event.kind == EventKind::RunOverdue { run_id });
    }
    assert_eq!(overdue, 1);
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_released_by_force_lets_the_next_run_overlap_and_its_record_says_so() {
    let fleet = Fleet::new();
    let node = on_a_thread(&fleet, JobBuilder::force_release_on_timeout).await;
    until(&fleet, "2026-01-01T12:00:07.1Z").await;
    let first = newest(&node).await;
    assert_eq!((first.state, first.still_running), (RunState::TimedOut, true));
    assert_eq!((held_by(&fleet, "j").await, open_runs(&fleet, "j").await), (None, 0));
    until(&fleet, "2026-01-01T12:01:01Z").await;
    let second = newest(&node).await;
    assert_eq!((second.state, second.overlap), (RunState::Running, true));
    assert_eq!(held_by(&fleet, "j").await, Some(second.run_id));
    // The first thread ends at last: it closes nothing that is another's.
    until(&fleet, "2026-01-01T12:01:31Z").await;
    let records = node.history("j", 100).await.unwrap();
    assert_eq!((records.len(), records[1].state), (2, RunState::TimedOut));
    let tail: Vec<_> = records.iter().map(|r| (r.still_running, r.overlap)).collect();
    assert_eq!(tail, [(true, true), (true, false)]);
    assert_eq!(node.health().running, 1);
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_outlives_a_shutdown_or_the_handle_keeps_its_lock_until_it_ends() {
    for dropped in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let node = on_a_thread(&fleet, |job| job).await;
        let control = node.control();
        until(&fleet, "2026-01-01T12:00:02Z").await;
        let running = newest(&control).await.run_id;
        if dropped {
            drop(node);
        } else {
            let report = node.shutdown(secs(0)).await;
            assert_eq!(report.cancelled, 1);
            assert_eq!(report.still_running.len(), 1);
            assert_eq!(report.still_running[0].run_id, running);
        }
        let other = fleet.node("b").job(job("j", "* * * * *", secs(1), &diary)).unwrap();
        let other = other.start().await.unwrap();
        until(&fleet, "2026-01-01T12:01:29Z").await;
        assert_eq!(held_by(&fleet, "j").await, Some(running));
        assert!(newest_run(&other).await.still_running);
        until(&fleet, "2026-01-01T12:02:02Z").await;
        let records = other.history("j", 100).await.unwrap();
        each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 3));
        assert_eq!(ran(&records), ["12:00:00", "12:02:00"]);
        let ended = records.iter().find(|record| record.run_id == running);
        assert_eq!(ended.unwrap().state, RunState::Cancelled);
    }
}

async fn newest_run(node: &Control) -> Record {
    let records = node.history("j", 9).await.unwrap();
    records.into_iter().find(|record| record.ticks.is_none()).unwrap()
}

#[tokio::test]
async fn a_thread_cannot_have_a_lease_that_is_not_renewed() {
    let job = minutely().fixed_lease().run_blocking(|_| ());
    let refused = Fleet::new().node("a").job(job);
    assert!(matches!(refused, Err(JobError::FixedLeaseBlocking(_))));
}

/// In real time, on real threads: one job sleeps on a thread of its own, the other never yields.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn code_that_does_not_yield_keeps_its_lock_while_it_runs() {
    let backend = tidelock_memory::MemoryBackend::new();
    let soon = Timestamp::from_millisecond(SystemClock.now().as_millisecond() + 300).unwrap();
    let once = |id: &str, at| {
        let job = Job::new(id).once(at);
        job.lock_ttl(secs(2)).timeout(ms(100)).grace(ms(100))
    };
    let busy = once("busy", soon).run(|_| async {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < secs(4) {
            std::hint::spin_loop();
        }
    });
    let asleep = once("asleep", soon + secs(3_600)).run_blocking(|_| std::thread::sleep(secs(4)));
    let node = Scheduler::builder(backend).job(busy).unwrap().job(asleep).unwrap();
    let node = node.start().await.unwrap();
    let begun = tokio::time::Instant::now();
    node.run_now("asleep").await.unwrap();
    tokio::time::sleep_until(begun + ms(3_500)).await;
    for id in ["busy", "asleep"] {
        let record = node.history(id, 1).await.unwrap().remove(0);
        assert_eq!((record.state, record.still_running), (RunState::Running, true), "{id}");
        assert!(node.run_now(id).await.is_err(), "{id}");
    }
    let control = node.control();
    assert!(node.shutdown(secs(10)).await.still_running.is_empty());
    for id in ["busy", "asleep"] {
        let record = control.history(id, 1).await.unwrap().remove(0);
        assert_eq!((record.state, record.still_running), (RunState::TimedOut, false), "{id}");
    }
}
