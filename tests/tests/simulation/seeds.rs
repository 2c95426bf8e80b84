//! Seeds that are the same each time, and others.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use tidelock_tests::simulation::{Failure, Size, draw, judge, play, shrink, sweep};

/// Plays seeds, and shows the first that goes wrong in its shortest form.
fn all_is_kept(first: u64, count: u64) {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let quiet = |_: &Failure| {};
    let failures = sweep(first, count, Size::any(), threads, 1, quiet);
    let Some(failure) = failures.first() else { return };
    let plan = shrink(&draw(failure.seed, Size::any()));
    let trace = play(&plan);
    panic!(
        "seed {}: {:#?}\nthe shortest form:\n{plan}\n{:#?}\n{}",
        failure.seed,
        failure.findings,
        judge(&plan, &trace),
        trace.text()
    );
}

#[test]
fn two_thousand_fleets_that_are_always_the_same_keep_the_promise() {
    all_is_kept(0, 2_000);
}

#[test]
fn five_hundred_fleets_that_are_never_the_same_keep_the_promise() {
    // As random as a hash map's keys, and a million seeds from the next such base.
    let base = RandomState::new().hash_one(0) >> 20 << 20;
    println!("seeds from {base}");
    all_is_kept(base, 500);
}

/// A job that waited for the release of its own last run long after an outage, a shutdown that
/// passed over a record, a tick that was too late by one node's clock alone, records that waited for
/// others on a slow way when their node was shut down, and ticks that waited for a place while their
/// job was taken out and put back.
#[test]
fn fleets_that_went_wrong_once_keep_the_promise() {
    for seed in [7_033_498, 7_087_529, 8_067_860, 10_063_231, 10_003_957, 10_199_849] {
        all_is_kept(seed, 1);
    }
}
