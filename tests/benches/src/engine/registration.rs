//! What a job costs to register and to hold.

use std::time::Duration;

use super::contenders::{ALL, When, start, title};
use super::fires::Fires;
use super::settled::{block_on, resident, settled};
use crate::child::{cell, figure, measure};
use crate::goal::Goal;
use crate::measure::{interleaved, us};
use crate::table::{Table, ratio};
use cpu_time::ProcessTime;

const ROUNDS: usize = 3;
const SIZES: [(&str, &str); 2] = [("10000", "10,000"), ("100000", "100,000")];

pub(super) fn run() {
    let mut ours = Vec::new();
    for (size, shown) in SIZES {
        let found = interleaved(ROUNDS, &ALL, |word| measure(&["registration", word, size]));
        let columns =
            [&format!("{shown} jobs") as &str, "us of CPU a job", "bytes a job", "x floor"];
        let mut table = Table::new(&columns);
        for (word, figures) in ALL.iter().zip(&found) {
            let times = ratio(figure(figures, 0), figure(&found[0], 0));
            table.row(title(word), [cell(figures, 0), cell(figures, 1), times]);
        }
        table.print();
        ours.push(found[1].clone());
    }
    let at = |size: usize, which| figure(&ours[size], which);
    Goal::at_most("bytes a job, of 100,000", at(1, 1), 1_024.0).tell();
    Goal::at_most("us of CPU to register a job, of 100,000", at(1, 0), 4.0).tell();
    Goal::at_most("linear: a job of 100,000 against one of 10,000", at(1, 0) / at(0, 0), 1.3)
        .tell();
}

/// Microseconds of CPU a job, all told until nothing moves any more, and bytes a job.
pub(super) fn child(words: &[&str]) -> Vec<f64> {
    let [word, size] = words else { return Vec::new() };
    let size: usize = size.parse().unwrap_or(0);
    let when = vec![When::Yearly; size];
    block_on(async {
        // What the runtime, the zone data and the parser need once.
        let warm = start(word, Fires::new(std::iter::once(None)), &[When::Yearly]).await;
        let fires = Fires::new((0..size).map(|_| None));
        settled(Duration::from_secs(5)).await;
        let (before, held) = (ProcessTime::now(), resident());
        let running = start(word, fires, &when).await;
        settled(Duration::from_secs(60)).await;
        let (spent, held) = (before.elapsed(), resident() - held);
        drop((warm, running));
        #[allow(clippy::cast_precision_loss)]
        let jobs = size as f64;
        vec![us(spent) / jobs, held / jobs]
    })
}
