//! Plays many fleets from seeds, and shows how to see again what went wrong.
//!
//! ```text
//! cargo run --release -p tidelock-tests --bin simulate -- --seeds 10000
//! cargo run --release -p tidelock-tests --bin simulate -- --seed 4711 --seeds 1 --nodes 5
//! ```

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a program, and that is where it tells"
)]

mod options;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use options::{Options, USAGE};
use tidelock_tests::simulation::{Failure, Plan, draw, judge, play, shrink, sweep};
use tokio::time::Instant;

/// How much of the timeline is shown before and after what went wrong, in microseconds.
const AROUND: u64 = 40_000_000;

/// How many seeds pass between two lines of progress.
const STEP: u64 = 1_000;

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(text) => {
            eprintln!("{text}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.show {
        let plan = draw(options.seed, options.size);
        tell(&plan, u64::MAX);
        return ExitCode::SUCCESS;
    }
    let (begun, done) = (Instant::now(), AtomicU64::new(0));
    let rate = |done: u64| done as f64 * 60.0 / begun.elapsed().as_secs_f64().max(1e-9);
    let &Options { seed, seeds, size, threads, most, .. } = &options;
    println!("seeds from {seed}, {seeds} of them, {size:?}, {threads} threads");
    let played = |failure: &Failure| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(finding) = failure.findings.first() {
            println!("seed {}: {finding}", failure.seed);
        }
        if done % STEP == 0 {
            println!("{done} seeds, {:.0} a minute", rate(done));
        }
    };
    let failures = sweep(seed, seeds, size, threads, most, played);
    let done = done.load(Ordering::Relaxed);
    println!("{done} seeds, {} wrong, {:.0} a minute", failures.len(), rate(done));
    let Some(first) = failures.first() else {
        return ExitCode::SUCCESS;
    };
    let again = format!("simulate --seed {} --show{}", first.seed, options.size_text);
    println!("\nplayed again by: {again}\n");
    if options.shrink {
        println!("the shortest reproduction that was found:");
    }
    let plan =
        if options.shrink { shrink(&draw(first.seed, size)) } else { draw(first.seed, size) };
    tell(&plan, AROUND);
    ExitCode::FAILURE
}

/// Prints a plan, what is wrong with it, and its timeline that long around the first finding.
fn tell(plan: &Plan, around: u64) {
    let trace = play(plan);
    println!("{plan}");
    let findings = judge(plan, &trace);
    let at = findings.first().map_or(0, |finding| finding.at);
    println!("{}", trace.text_between(at.saturating_sub(around), at.saturating_add(around)));
    println!("{}", trace.left_text());
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("nothing is wrong");
    }
}
