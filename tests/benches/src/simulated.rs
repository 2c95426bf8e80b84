//! What a simulated fleet costs, beside the least that mocked time costs.

use std::time::Duration;

use tidelock_tests::simulation::{Size, sweep};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::bench::Bench;
use crate::goal::Goal;
use crate::measure::{cpu_of, interleaved, us};
use crate::table::{Table, show};

pub(crate) const BENCH: Bench = Bench {
    name: "simulation",
    about: "five minutes of five nodes and four jobs, simulated and judged, beside bare virtual sleeps",
    run,
    child: None,
};

const ROUNDS: usize = 7;
const SEEDS: u64 = 200;

/// Sleeps of the floor, and by how many tasks.
const SLEEPS: u64 = 400_000;
const TASKS: u64 = 20;

/// So many virtual sleeps a seed may cost: 5,000 seeds a minute where a sleep takes 300 ns.
const MOST: f64 = 40_000.0;

fn run() {
    let mut first = 0;
    let found = interleaved(ROUNDS, &[false, true], |seeds| {
        vec![if *seeds {
            first += SEEDS;
            seed_us(first)
        } else {
            sleep_ns()
        }]
    });
    let (floor, seed) = (found[0][0], found[1][0]);
    let mut table = Table::new(&["five nodes, four jobs, one core", "CPU", "a minute"]);
    table.row("floor: a virtual sleep, ns", [show(floor), show(60e9 / floor)]);
    table.row("a seed, us", [show(seed), show(60e6 / seed)]);
    table.print();
    Goal::at_most("a seed, in virtual sleeps", seed * 1_000.0 / floor, MOST).tell();
}

/// What a seed takes, in microseconds.
fn seed_us(first: u64) -> f64 {
    let size = Size::any().nodes(5).jobs(4).minutes(5);
    let (failures, spent) = cpu_of(|| sweep(first, SEEDS, size, 1, 1, |_| {}));
    assert!(failures.is_empty(), "{failures:?}");
    us(spent) / SEEDS as f64
}

/// What a sleep in tokio's paused time takes, in nanoseconds.
fn sleep_ns() -> f64 {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let sleeping = async {
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            tasks.spawn(async move {
                for number in 0..SLEEPS / TASKS {
                    sleep(Duration::from_millis(1 + (number * 7_919 + task * 104_729) % 97)).await;
                }
            });
        }
        tasks.join_all().await;
    };
    let ((), spent) = cpu_of(|| runtime.expect("a runtime").block_on(sleeping));
    us(spent) * 1_000.0 / SLEEPS as f64
}
