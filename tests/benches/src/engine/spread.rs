//! Jobs due all the time.

use cpu_time::ProcessTime;

use super::contenders::{FIRING, When, start, title};
use super::fires::{Fires, now_us};
use super::lateness::{self, COLUMNS, CPU, FIRED, P99};
use super::settled::{block_on, wait_until};
use crate::child::{figure, measure};
use crate::goal::Goal;
use crate::measure::interleaved;
use crate::table::Table;

const JOBS: usize = 10_000;
const ROUNDS: usize = 2;

/// How many seconds of the minute are watched.
const WATCHED: i64 = 10;

pub(super) fn run() {
    let found = interleaved(ROUNDS, &FIRING, |word| measure(&["spread", word]));
    let columns: Vec<&str> = std::iter::once("10,000 a minute").chain(COLUMNS).collect();
    let mut table = Table::new(&columns);
    for (word, figures) in FIRING.iter().zip(&found) {
        table.row(title(word), lateness::row(figures, &found[0]));
    }
    table.print();
    let [_, ours, _, apalis, claiming] = &found[..] else { return };
    Goal::at_least("% that ran", figure(ours, FIRED), 100.0).tell();
    for (what, at) in [("p99 lateness", P99), ("CPU a fire", CPU)] {
        let times = |figures| figure(figures, at) / figure(apalis, at);
        let what = format!("{what}, times apalis-cron's");
        // Beside what claims and records as ours does.
        Goal::at_most(what, times(ours), 1.0).floor(times(claiming)).tell();
    }
}

/// The figures of [`lateness`].
pub(super) fn child(words: &[&str]) -> Vec<f64> {
    let [word] = words else { return Vec::new() };
    block_on(async {
        // The seconds after the registration, of which no job has had one.
        let begin = now_us() / 1_000_000 + 3;
        let second = |job: usize| begin + i64::try_from(job % 60).unwrap_or(0);
        let of_minute = |job| u32::try_from(second(job).rem_euclid(60)).unwrap_or(0);
        let when: Vec<When> = (0..JOBS).map(|job| When::EachMinute(of_minute(job))).collect();
        let watched = |job: &usize| second(*job) < begin + WATCHED;
        let fires = Fires::new((0..JOBS).map(|job| watched(&job).then(|| second(job))));
        let due = (0..JOBS).filter(watched).count();
        let running = start(word, fires.clone(), &when).await;
        if !wait_until(begin * 1_000_000 - 300_000).await {
            return Vec::new();
        }
        let before = ProcessTime::now();
        wait_until((begin + WATCHED) * 1_000_000 - 100_000).await;
        let figures = lateness::figures(&fires, due, before.elapsed());
        drop(running);
        figures
    })
}
