//! What jobs cost that are not due.

use std::time::Duration;

use cpu_time::ProcessTime;

use super::contenders::{ALL, When, start, title};
use super::fires::Fires;
use super::settled::{block_on, settled};
use crate::child::{cell, figure, measure};
use crate::goal::Goal;
use crate::table::Table;

const WATCHED: Duration = Duration::from_secs(20);
const SIZES: [&str; 2] = ["1000", "100000"];

pub(super) fn run() {
    // All at once: they do nothing, and what is counted is the CPU time of each process.
    let found: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let children: Vec<_> = ALL
            .iter()
            .flat_map(|word| SIZES.map(|size| scope.spawn(move || measure(&["idle", word, size]))))
            .collect();
        children.into_iter().map(|child| child.join().unwrap_or_default()).collect()
    });
    let mut table = Table::new(&["% of a core over 20 s", "1,000 jobs", "100,000 jobs"]);
    for (word, sizes) in ALL.iter().zip(found.chunks(SIZES.len())) {
        table.row(title(word), sizes.iter().map(|figures| cell(figures, 0)));
    }
    table.print();
    let ours = |size: usize| figure(&found[SIZES.len() + size], 0);
    Goal::at_most("% of a core, 1,000 jobs", ours(0), 0.01).tell();
    Goal::at_most("% of a core, 100,000 jobs", ours(1), 0.01).tell();
}

/// Percent of a core.
pub(super) fn child(words: &[&str]) -> Vec<f64> {
    let [word, size] = words else { return Vec::new() };
    let size: usize = size.parse().unwrap_or(0);
    let when = vec![When::Yearly; size];
    block_on(async {
        let running = start(word, Fires::new((0..size).map(|_| None)), &when).await;
        settled(Duration::from_secs(60)).await;
        let before = ProcessTime::now();
        tokio::time::sleep(WATCHED).await;
        let spent = before.elapsed();
        drop(running);
        vec![spent.as_secs_f64() / WATCHED.as_secs_f64() * 100.0]
    })
}
