//! All jobs due on one second.

use std::time::Duration;

use cpu_time::ProcessTime;

use super::contenders::{FIRING, When, start, title};
use super::fires::{Fires, now_us};
use super::lateness::{self, COLUMNS, CPU, FIRED, P99, TWICE};
use super::settled::{block_on, settled, wait_until};
use crate::child::{figure, measure};
use crate::goal::Goal;
use crate::measure::interleaved;
use crate::table::Table;

/// How many, as words of a child and as shown, and in how many rounds.
const SIZES: [(&str, &str, usize); 3] =
    [("100", "100", 5), ("10000", "10,000", 3), ("100000", "100,000", 3)];

pub(super) fn run() {
    for (size, shown, rounds) in SIZES {
        let found = interleaved(rounds, &FIRING, |word| measure(&["burst", word, size]));
        let columns: Vec<&str> = std::iter::once(shown).chain(COLUMNS).collect();
        let mut table = Table::new(&columns);
        for (word, figures) in FIRING.iter().zip(&found) {
            table.row(title(word), lateness::row(figures, &found[0]));
        }
        table.print();
        goals(shown, &found);
        println!();
    }
}

fn goals(size: &str, found: &[Vec<f64>]) {
    let [floor, ours, _, apalis, claiming] = found else { return };
    let at = |figures: &[f64], which| figure(figures, which);
    Goal::at_least(format!("{size}: % that ran"), at(ours, FIRED), 100.0).tell();
    Goal::at_most(format!("{size}: that ran twice"), at(ours, TWICE), 0.0).tell();
    // Beside what claims and records as ours does.
    let tell = |what: &str, which, of: Option<&[f64]>, limit| {
        let unit = of.map_or(1.0, |of| at(of, which));
        Goal::at_most(format!("{size}: {what}"), at(ours, which) / unit, limit)
            .floor(at(claiming, which) / unit)
            .tell();
    };
    tell("p99 lateness, times the floor's", P99, Some(floor), 3.0);
    match size {
        "100,000" => tell("us of CPU a fire", CPU, None, 5.0),
        _ => tell("p99 lateness, times apalis-cron's", P99, Some(apalis), 1.0),
    }
    if size == "100" {
        tell("p99 lateness, ms", P99, None, 2.2);
    }
}

/// The figures of [`lateness`].
pub(super) fn child(words: &[&str]) -> Vec<f64> {
    let [word, size] = words else { return Vec::new() };
    let size: usize = size.parse().unwrap_or(0);
    block_on(async {
        // Time to register, more of it where it was not enough.
        let micros = if word.starts_with("tokio-cron") { 150 } else { 20 };
        let mut allowed = 2 + i64::try_from(size).unwrap_or(0) * micros / 1_000_000;
        for _ in 0..4 {
            let due = now_us() / 1_000_000 + allowed;
            if let Some(figures) = burst(word, size, due).await {
                return figures;
            }
            allowed *= 2;
        }
        Vec::new()
    })
}

/// `None` where the jobs were not all registered well before.
async fn burst(word: &str, size: usize, due: i64) -> Option<Vec<f64>> {
    let second = u32::try_from(due.rem_euclid(86_400)).unwrap_or(0);
    let when = vec![When::Daily(second); size];
    let fires = Fires::new(when.iter().map(|_| Some(due)));
    let running = start(word, fires.clone(), &when).await;
    // Quiet before the burst: what registering has left to do is done by then.
    if !wait_until(due * 1_000_000 - 300_000).await {
        return None;
    }
    let before = ProcessTime::now();
    if !wait_until(due * 1_000_000).await {
        return None;
    }
    // Who looks for what is due every half second may not have begun before, and on a busy machine
    // nobody may have.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    for _ in 0..50 {
        if fires.count() == size {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    settled(Duration::from_secs(20)).await;
    let figures = lateness::figures(&fires, size, before.elapsed());
    drop(running);
    Some(figures)
}
