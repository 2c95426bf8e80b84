//! Benchmarks: our figure, a floor and peers from the same run, interleaved, as medians and ratios.
//!
//! ```text
//! cargo run --release -p tidelock-benches            # all of them
//! cargo run --release -p tidelock-benches -- NAME..  # those whose names begin with one of these
//! cargo run --release -p tidelock-benches -- --list
//! cargo run --release -p tidelock-benches -- soak [--minutes 30]
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is what it is for")]

mod bench;
mod child;
mod engine;
mod etcd;
mod fleet;
mod goal;
mod load;
mod measure;
mod redis;
mod schedule;
mod simulated;
mod soak;
mod table;

use std::process::ExitCode;

use bench::Bench;

/// All benchmarks, in the order in which they run.
const ALL: &[Bench] = &[
    schedule::NEXT,
    schedule::PARSE,
    schedule::WORST,
    engine::REGISTRATION,
    engine::IDLE,
    engine::BURST,
    engine::SPREAD,
    engine::YEAR,
    simulated::BENCH,
    fleet::KNOWING,
    fleet::SKEWED,
    redis::WHOLE_RUN,
    redis::TOGETHER,
    redis::HISTORY,
    redis::RENEWALS,
    etcd::WHOLE_RUN,
    etcd::HISTORY,
];

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let Some((word, words)) = asked.split_first()
        && word == child::WORD
    {
        as_child(words);
        return ExitCode::SUCCESS;
    }
    if let Some((word, words)) = asked.split_first()
        && word == soak::WORD
    {
        return match soak::minutes(words) {
            Ok(minutes) => {
                soak::run(minutes);
                ExitCode::SUCCESS
            }
            Err(text) => {
                eprintln!("{text}");
                ExitCode::from(2)
            }
        };
    }
    if asked.iter().any(|word| ["--list", "--help", "-h"].contains(&word.as_str())) {
        for bench in ALL {
            println!("{:24} {}", bench.name, bench.about);
        }
        println!("{:24} {}", soak::WORD, soak::ABOUT);
        return ExitCode::SUCCESS;
    }
    let is_none = |word: &&String| !ALL.iter().any(|bench| bench.name.starts_with(word.as_str()));
    if let Some(word) = asked.iter().find(is_none) {
        eprintln!("{word}: no benchmark's name begins so; --list tells which there are");
        return ExitCode::from(2);
    }
    for bench in ALL.iter().filter(|bench| bench.is_asked(&asked)) {
        println!("\n## {}: {}\n", bench.name, bench.about);
        (bench.run)();
    }
    goal::summary();
    ExitCode::SUCCESS
}

/// Measures one contender and prints its figures: the first word is the benchmark's name.
fn as_child(words: &[String]) {
    let Some((name, words)) = words.split_first() else { return };
    let bench = ALL.iter().find(|bench| bench.name == name);
    if let Some(child) = bench.and_then(|bench| bench.child) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        child::tell(&child(&words));
    }
}
