//! Jobs that are replaced while a tick is asked for, and schedules that are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, ErrorKind, Fingerprint, Holder, Job, JobId, LockBackend, LockKey,
    Misfire, NodeId, Occurrences, RunId, RunState, Schedule,
};
use tidelock_tests::{Fault, Faults, Op};

use crate::fleet::{Diary, Fleet, in_state, job, ms, secs};
use crate::ledger::{each_told_once, ran, ticks, until};
use crate::node::{noting, stored};

const EVERY_TEN: &str = "*/10 * * * * *";

#[tokio::test(start_paused = true)]
async fn a_tick_whose_fate_is_unknown_is_settled_before_the_new_job_asks_for_the_next() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    // The first is granted and nobody hears of it; then the backend is away.
    way.next(Op::Begin, Fault::LoseReply);
    way.always(Op::Begin, Fault::Fail(ErrorKind::Unavailable));
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
    let node = node.job(job("j", EVERY_TEN, ms(10), &diary)).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:05Z").await;
    node.replace(job("j", EVERY_TEN, ms(10), &diary)).unwrap();
    until(&fleet, "2026-01-01T12:00:11Z").await;
    way.clear();
    until(&fleet, "2026-01-01T12:00:25Z").await;
    let records = node.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 10, 3));
    // The second tick found no run in its way: the first was not worth running any more.
    assert_eq!(ran(&records), ["12:00:10", "12:00:20"], "{records:#?}");
}

/// Holds a job's lock for a while, as a run by hand on another node does.
async fn hold(fleet: &Fleet, id: &str, ttl: std::time::Duration) {
    let node = NodeId::new("other").unwrap();
    let key = LockKey::of(&JobId::new(id).unwrap());
    let (holder, run) = (Holder::new(&node, 1), RunId::new(1));
    let request = AcquireRequest::new(key, holder, run, node, None, Fingerprint::new(0), ttl);
    let answer = fleet.backend.acquire(&request).await.unwrap().value;
    assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
}

fn backlogged(diary: &Diary) -> Job {
    let job = Job::new("j").cron(EVERY_TEN).unwrap().misfire(Misfire::All { max: 5 });
    noting(job, ms(10), diary)
}

/// A node that is up again after a minute and finds the lock held.
async fn waiting_for_its_backlog(fleet: &Fleet, diary: &Diary) -> tidelock::Scheduler {
    let first = fleet.node("a").job(backlogged(diary)).unwrap().start().await.unwrap();
    until(fleet, "2026-01-01T12:00:05Z").await;
    let _ = first.shutdown(secs(1)).await;
    until(fleet, "2026-01-01T12:01:05Z").await;
    hold(fleet, "j", ms(4_200)).await;
    let second = fleet.node("b").job(backlogged(diary)).unwrap().start().await.unwrap();
    until(fleet, "2026-01-01T12:01:07Z").await;
    second
}

#[tokio::test(start_paused = true)]
async fn a_backlog_stays_in_order_when_its_job_is_replaced() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = waiting_for_its_backlog(&fleet, &diary).await;
    for _ in 0..4 {
        node.replace(backlogged(&diary)).unwrap();
        tokio::time::sleep(ms(300)).await;
    }
    until(&fleet, "2026-01-01T12:01:15Z").await;
    let records = node.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 10, 8));
    let expected =
        ["12:00:00", "12:00:20", "12:00:30", "12:00:40", "12:00:50", "12:01:00", "12:01:10"];
    assert_eq!(ran(&records), expected);
}

#[tokio::test(start_paused = true)]
async fn another_schedule_does_not_wait_for_the_backlog_of_the_old_one() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = waiting_for_its_backlog(&fleet, &diary).await;
    node.replace(job("j", "*/15 * * * * *", ms(10), &diary)).unwrap();
    assert_eq!(node.jobs()[0].schedule, Schedule::cron("*/15 * * * * *").unwrap().to_string());
    until(&fleet, "2026-01-01T12:01:40Z").await;
    let records = node.history("j", 100).await.unwrap();
    assert_eq!(ran(&records), ["12:00:00", "12:01:15", "12:01:30"], "{records:#?}");
    assert_eq!(in_state(&records, RunState::Missed).len(), 0, "{records:#?}");
}

/// Every ten seconds, until it breaks.
#[derive(Debug)]
struct Breaks(Arc<AtomicBool>);

impl Occurrences for Breaks {
    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        assert!(!self.0.load(Ordering::Relaxed), "broken, as asked for");
        Schedule::cron(EVERY_TEN).unwrap().next_after(t)
    }

    fn name(&self) -> String {
        "every ten seconds".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_has_broken_can_be_replaced_by_a_sound_one() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let broken = Arc::new(AtomicBool::new(false));
    let schedule = || Schedule::custom(Breaks(broken.clone()));
    let fragile = noting(Job::new("j").schedule(schedule()), ms(10), &diary);
    let node = fleet.node("a").job(fragile).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:05Z").await;
    broken.store(true, Ordering::Relaxed);
    until(&fleet, "2026-01-01T12:00:35Z").await;
    broken.store(false, Ordering::Relaxed);
    let sound = noting(Job::new("j").schedule(schedule()), ms(10), &diary);
    node.replace(sound).unwrap();
    until(&fleet, "2026-01-01T12:01:05Z").await;
    let records = stored(&fleet, "j").await;
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 10, 7));
    assert_eq!(ran(&records).last().map(String::as_str), Some("12:01:00"));
}

#[tokio::test(start_paused = true)]
async fn in_a_rolling_deployment_either_schedule_has_its_ticks_and_each_runs_once() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let old = || job("j", "*/20 * * * * *", ms(10), &diary);
    let new = || job("j", "*/15 * * * * *", ms(10), &diary);
    let a = fleet.node("a").job(old()).unwrap().start().await.unwrap();
    let b = fleet.node("b").job(old()).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:30Z").await;
    a.replace(new()).unwrap();
    until(&fleet, "2026-01-01T12:01:05Z").await;
    b.replace(new()).unwrap();
    until(&fleet, "2026-01-01T12:01:35Z").await;
    let records = stored(&fleet, "j").await;
    // 12:00:40 is the old one's, 12:00:45 the new one's, and 12:01:00 of both.
    let expected =
        ["12:00:00", "12:00:20", "12:00:40", "12:00:45", "12:01:00", "12:01:15", "12:01:30"];
    assert_eq!(ran(&records), expected, "{records:#?}");
    assert_eq!(records.len(), expected.len(), "{records:#?}");
}
