//! What is half done when something fails.

use async_trait::async_trait;
use jiff::Timestamp;
use tidelock::{
    AcquireRequest, BackendError, Clock, Combined, ErrorKind, EventKind, Fingerprint, Holder, Job,
    JobId, LockBackend, LockKey, NodeId, Occurrences, Record, RecordQuery, RecordStore, RunId,
    RunState, Schedule, Scheduler, SystemClock,
};
use tidelock_memory::MemoryBackend;
use tidelock_tests::{Fault, Faults, NodeSpawner, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, job, ms, secs};
use crate::ledger::until;
use crate::node::{lock, noting, states};

#[tokio::test(start_paused = true)]
async fn a_manual_run_granted_unheard_leaves_no_lock_at_a_shutdown() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
    let node = node.job(job("j", "0 0 * * *", secs(1), &diary)).unwrap().start().await.unwrap();
    sleep(secs(1)).await;
    way.next(Op::Begin, Fault::LoseReply);
    let control = node.control();
    let stop = async {
        sleep(ms(1)).await;
        node.shutdown(secs(10)).await
    };
    let (asked, report) = tokio::join!(control.run_now("j"), stop);
    assert!(asked.is_ok() && report.cancelled == 0, "{asked:?}");
    assert_eq!(lock(&fleet, "j").await.held, None);
    assert_eq!(states(&fleet, "j").await, [RunState::Succeeded]);
}

#[derive(Debug)]
struct Panics;

impl Occurrences for Panics {
    fn next_after(&self, _: Timestamp) -> Option<Timestamp> {
        panic!("no schedule at all")
    }
    fn name(&self) -> String {
        "panics".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_did_not_start_leaves_no_task() {
    let fleet = Fleet::new();
    let way = Faults::new(fleet.backend.clone());
    way.link().cut();
    let process = NodeSpawner::new();
    let node = fleet.node_over(way, fleet.clock.clone(), "a").spawner(process.clone());
    let node = node.job(job("j", "* * * * *", secs(1), &Diary::default())).unwrap();
    let bad = Job::new("bad").schedule(Schedule::custom(Panics)).run(|_| async {});
    assert!(node.job(bad).unwrap().start().await.is_err());
    sleep(secs(10)).await;
    assert_eq!(process.tasks(), 0);
}

/// Records that panic.
#[derive(Debug)]
struct NoRecords;

#[async_trait]
impl RecordStore for NoRecords {
    async fn save(&self, _: &Record) -> Result<(), BackendError> {
        panic!("no save")
    }
    async fn list(&self, _: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        panic!("no list")
    }
}

#[tokio::test(start_paused = true)]
async fn records_whose_store_panics_hold_up_no_run() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let both = Combined::new(fleet.backend.clone(), NoRecords);
    let node = fleet.node_over(both, fleet.clock.clone(), "a");
    let node = node.job(job("j", "* * * * *", secs(1), &diary)).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:02:30Z").await;
    assert_eq!(diary.count("end"), 3);
    assert_eq!(lock(&fleet, "j").await.held, None);
    let _ = node.shutdown(secs(1)).await;
}

/// Records that are busy for ever: all that their task may do at a time, each time.
#[derive(Debug)]
struct BusyRecords;

#[async_trait]
impl RecordStore for BusyRecords {
    async fn save(&self, _: &Record) -> Result<(), BackendError> {
        loop {
            tokio::task::consume_budget().await;
        }
    }
    async fn list(&self, _: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        Ok(Vec::new())
    }
}

/// In real time: mocked time does not move while anybody is busy.
#[tokio::test]
async fn a_store_that_is_busy_for_ever_is_not_waited_for_longer_than_any_other() {
    let now = Timestamp::from_millisecond(SystemClock.now().as_millisecond() + 100).unwrap();
    let node = Scheduler::combined(MemoryBackend::new(), BusyRecords);
    let node = node.job(Job::new("j").once(now).run(|_| async {})).unwrap().start().await.unwrap();
    let mut events = node.events();
    let given_up = async {
        let mut kinds = Vec::new();
        while let Some(event) = events.next().await {
            if let EventKind::BackendFailed { operation: "save", kind, .. } = event.kind {
                kinds.push(kind);
            }
            // With the grant, with the end, and by itself.
            if kinds.len() == 3 {
                break;
            }
        }
        kinds
    };
    let given_up = tokio::time::timeout(secs(10), given_up).await;
    assert_eq!(given_up, Ok(vec![ErrorKind::Timeout; 3]));
}

#[tokio::test(start_paused = true)]
async fn a_run_named_to_a_grant_that_was_heard_of_too_late_is_closed_all_the_same() {
    let (fleet, diary, ttl) = (Fleet::new(), Diary::default(), secs(1));
    let records = MemoryBackend::new();
    // A node dies between its grant and its record.
    let (dead, id) = (NodeId::new("dead").unwrap(), JobId::new("j").unwrap());
    let (key, holder) = (LockKey::of(&id), Holder::new(&dead, 1));
    let (run, none) = (RunId::new(1), Fingerprint::new(0));
    let request = AcquireRequest::new(key, holder, run, dead, None, none, ttl);
    assert!(fleet.backend.acquire(&request).await.is_ok());
    // The next grant names its run, to a node that hears of it when the lock has gone.
    let way = Faults::new(fleet.backend.clone());
    let both = Combined::new(way.clone(), records.clone());
    let node = fleet.node_over(both, fleet.clock.clone(), "a");
    until(&fleet, "2026-01-01T12:00:30Z").await;
    let minutely = noting(Job::new("j").cron("* * * * *").unwrap().lock_ttl(ttl), ms(10), &diary);
    let node = node.job(minutely).unwrap().start().await.unwrap();
    way.next(Op::Acquire, Fault::LoseReply);
    way.always(Op::Acquire, Fault::Fail(ErrorKind::Unavailable));
    until(&fleet, "2026-01-01T12:01:02Z").await;
    way.clear();
    until(&fleet, "2026-01-01T12:01:30Z").await;
    assert_eq!(node.shutdown(secs(10)).await.unsaved_records, 0);
    let stored = records.list(&RecordQuery::newest(id, 10)).await.unwrap();
    let state = |run: &Record| (run.node.to_string(), run.state);
    let mut states: Vec<_> = stored.iter().map(state).collect();
    states.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [("a".to_owned(), RunState::LockLost), ("dead".to_owned(), RunState::Abandoned)];
    assert_eq!(states, expected, "{stored:#?}");
}
