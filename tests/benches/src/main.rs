//! Benchmarks: our figure, a floor and peers from the same run, interleaved, as medians and ratios.
//!
//! ```text
//! cargo run --release -p tidelock-benches            # all of them
//! cargo run --release -p tidelock-benches -- NAME..  # those whose names begin with one of these
//! cargo run --release -p tidelock-benches -- --list
//! ```

#![allow(clippy::print_stdout, reason = "what it prints is what it is for")]

mod bench;
mod measure;

use bench::Bench;

/// All benchmarks, in the order in which they run.
const ALL: &[Bench] = &[];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if asked.iter().any(|word| word == "--list") {
        for bench in ALL {
            println!("{:24} {}", bench.name, bench.about);
        }
        return;
    }
    for bench in ALL.iter().filter(|bench| bench.is_asked(&asked)) {
        println!("\n## {}: {}\n", bench.name, bench.about);
        (bench.run)();
    }
}
