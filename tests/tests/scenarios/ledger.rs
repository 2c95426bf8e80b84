//! The account of a job's ticks: each was run or has its reason, once in the fleet.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use tidelock::{
    Clock, Job, JobId, LockBackend, LockKey, LockState, Occurrence, Record, RunId, Scheduler,
};

use crate::fleet::{Diary, Fleet, at, secs};

/// `count` instants, `period` seconds apart.
pub(crate) fn ticks(first: &str, period: i64, count: i64) -> Vec<Timestamp> {
    let first: Timestamp = first.parse().unwrap();
    (0..count).map(|n| first + SignedDuration::from_secs(n * period)).collect()
}

/// Fails unless the records tell of each of these ticks once, and of no other tick.
pub(crate) fn each_told_once(records: &[Record], ticks: &[Timestamp]) {
    let told = none_told_twice(records, ticks);
    assert_eq!(told, ticks.len() as u64, "{records:#?}");
    let tells_of = |record: &Record, tick| match (record.ticks, record.occurrence) {
        (Some(span), _) => span.first.at() <= tick && tick <= span.last.at(),
        (None, run) => run.is_some_and(|it| it.at() == tick),
    };
    let untold = |tick: &&Timestamp| !records.iter().any(|record| tells_of(record, **tick));
    assert_eq!(ticks.iter().find(untold), None, "{records:#?}");
}

/// Fails if the records tell of any of these ticks twice, or of another one. How many they tell of.
pub(crate) fn none_told_twice(records: &[Record], ticks: &[Timestamp]) -> u64 {
    let (mut told, mut runs) = (0, BTreeSet::new());
    let known = |tick: Occurrence| ticks.binary_search(&tick.at()).is_ok();
    for record in records {
        let (first, last) = match (record.ticks, record.occurrence) {
            (Some(span), _) => (span.first, span.last),
            (None, Some(tick)) => (tick, tick),
            (None, None) => continue,
        };
        assert!(known(first) && known(last), "{record:#?}");
        told += record.ticks.map_or(1, |span| span.count);
        if record.ticks.is_none() {
            assert!(runs.insert(first), "{first} twice in {records:#?}");
        }
    }
    for span in records.iter().filter_map(|record| record.ticks) {
        // Two nodes may pass over ticks in turn, so that their spans overlap; a run ends a span.
        let run = runs.range(span.first..=span.last).next();
        assert_eq!(run, None, "in {span:?} of {records:#?}");
    }
    assert!(told <= ticks.len() as u64, "{records:#?}");
    told
}

/// The ticks that ran, oldest first, as `HH:MM:SS`.
pub(crate) fn ran(records: &[Record]) -> Vec<String> {
    let mut ran: Vec<_> = records
        .iter()
        .filter(|record| record.ticks.is_none())
        .filter_map(|record| record.occurrence)
        .collect();
    ran.sort();
    ran.iter().map(|tick| tick.at().strftime("%T").to_string()).collect()
}

/// Three nodes with one job. Each life has nodes of other names, and thus other seeds, as another
/// process would.
pub(crate) async fn begin(fleet: &Fleet, life: u32, job: impl Fn() -> Job) -> Vec<Scheduler> {
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        let node = fleet.node(&format!("{name}{life}"));
        nodes.push(node.job(job()).unwrap().start().await.unwrap());
    }
    nodes
}

/// Shuts all of them down, with nothing left.
pub(crate) async fn end(nodes: Vec<Scheduler>) {
    for node in nodes {
        let report = node.shutdown(secs(60)).await;
        assert_eq!((report.cancelled, report.unsaved_records), (0, 0));
    }
}

/// Sleeps until the true time is that.
pub(crate) async fn until(fleet: &Fleet, time: &str) {
    let left = at(time).duration_since(fleet.clock.now());
    tokio::time::sleep(left.try_into().unwrap()).await;
}

/// All records of job `j`, newest first.
pub(crate) async fn records(nodes: &[Scheduler]) -> Vec<Record> {
    nodes[0].history("j", 100_000).await.unwrap()
}

async fn lock_state(fleet: &Fleet, id: &str) -> LockState {
    let key = LockKey::of(&JobId::new(id).unwrap());
    fleet.backend.inspect(&key).await.unwrap().value
}

/// The run that holds the job's lock.
pub(crate) async fn held_by(fleet: &Fleet, id: &str) -> Option<RunId> {
    lock_state(fleet, id).await.held.map(|held| held.run_id)
}

/// How many runs of the job were granted and not released.
pub(crate) async fn open_runs(fleet: &Fleet, id: &str) -> usize {
    lock_state(fleet, id).await.open_runs.len()
}

/// Fails if two handlers ran at once, or one had a token no larger than an earlier one's.
pub(crate) fn never_two(diary: &Diary) {
    let (mut open, mut token) = (None, 0);
    for entry in diary.entries() {
        if entry.what == "start" {
            assert_eq!(open.replace(entry.run_id), None, "{:#?}", diary.entries());
            assert!(entry.token > token, "{:#?}", diary.entries());
            token = entry.token;
        } else {
            assert_eq!(open.take(), Some(entry.run_id));
        }
    }
}
