//! A year of two jobs.

use jiff::Timestamp;

use crate::fleet::{Diary, Entry, Fleet, job, ms};
use crate::ledger::ticks;

#[tokio::test(start_paused = true)]
async fn in_a_year_three_nodes_run_each_tick_of_two_jobs_once() {
    let fleet = Fleet::starting("2025-12-31T23:59:59.5Z");
    let (settlement, rates) = (Diary::default(), Diary::default());
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        let node = fleet.node(name);
        let node = node.job(job("settlement", "0 0 2 1 * *", ms(900), &settlement)).unwrap();
        let node = node.job(job("rate-sync", "0 */5 * * * *", ms(300), &rates)).unwrap();
        nodes.push(node.start().await.unwrap());
    }
    tokio::time::sleep(std::time::Duration::from_secs(365 * 86_400)).await;
    for node in nodes {
        let report = node.shutdown(ms(1_000)).await;
        assert_eq!((report.cancelled, report.unsaved_records), (0, 0));
    }
    let months: Vec<Timestamp> =
        (1..=12).map(|month| format!("2026-{month:02}-01T02:00:00Z").parse().unwrap()).collect();
    assert_eq!(ends(&settlement), months);
    assert_eq!(ends(&rates), ticks("2026-01-01T00:00:00Z", 300, 105_120));
    assert_eq!(settlement.count("start"), 12);
    assert_eq!(rates.count("start"), 105_120);
}

/// The ticks whose runs came to their end, in the order in which they did.
fn ends(diary: &Diary) -> Vec<Timestamp> {
    let end = |entry: Entry| (entry.what == "end").then(|| entry.occurrence.unwrap().at());
    diary.entries().into_iter().filter_map(end).collect()
}
