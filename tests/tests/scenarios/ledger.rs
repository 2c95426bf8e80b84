//! The account of a job's ticks: each was run or has its reason, once in the fleet.

use jiff::{SignedDuration, Timestamp};
use tidelock::{Clock, Job, Record, Scheduler};

use crate::fleet::{Fleet, at, secs};

/// `count` instants, `period` seconds apart.
pub(crate) fn ticks(first: &str, period: i64, count: i64) -> Vec<Timestamp> {
    let first: Timestamp = first.parse().unwrap();
    (0..count)
        .map(|n| first + SignedDuration::from_secs(n * period))
        .collect()
}

/// Fails unless the records tell of each of these ticks once, and of no other tick.
pub(crate) fn each_told_once(records: &[Record], ticks: &[Timestamp]) {
    let told: u64 = records
        .iter()
        .map(|record| match record.ticks {
            Some(span) => span.count,
            None => u64::from(record.occurrence.is_some()),
        })
        .sum();
    assert_eq!(told, ticks.len() as u64, "{records:#?}");
    for &tick in ticks {
        let runs = records
            .iter()
            .filter(|r| r.ticks.is_none() && r.occurrence.is_some_and(|it| it.at() == tick))
            .count();
        let reasons = records
            .iter()
            .filter_map(|record| record.ticks)
            .filter(|span| span.first.at() <= tick && tick <= span.last.at())
            .count();
        // Two nodes may pass over ticks in turn, so that their spans overlap; a run ends a span.
        let once = (runs, reasons > 0);
        assert!(
            once == (1, false) || once == (0, true),
            "{tick}: {runs} runs, {reasons} reasons in {records:#?}"
        );
    }
}

/// The ticks that ran, oldest first, as `HH:MM:SS`.
pub(crate) fn ran(records: &[Record]) -> Vec<String> {
    let mut ran: Vec<_> = records
        .iter()
        .filter(|record| record.ticks.is_none())
        .filter_map(|record| record.occurrence)
        .collect();
    ran.sort();
    ran.iter()
        .map(|tick| tick.at().strftime("%T").to_string())
        .collect()
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
