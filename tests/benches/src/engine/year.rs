//! A year in mocked time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidelock::{Job, Scheduler, TestClock};
use tidelock_memory::MemoryBackend;

use crate::child::{figure, measure};
use crate::goal::Goal;
use crate::measure::{cpu_of, interleaved};
use crate::table::{Table, show};

const ROUNDS: usize = 3;

/// 365 days of one tick each five minutes, and twelve firsts of the month.
const TICKS: f64 = 105_120.0 + 12.0;

pub(super) fn run() {
    let found = interleaved(ROUNDS, &["year"], |word| measure(&[word]));
    let seconds = figure(&found[0], 0);
    let mut table =
        Table::new(&["105,132 ticks, three nodes", "s of CPU", "us a tick", "runs a tick"]);
    let cells = [show(seconds), show(seconds * 1e6 / TICKS), show(figure(&found[0], 1) / TICKS)];
    table.row("tidelock", cells);
    table.print();
    // In mocked time one thread does all, and never waits: its CPU time is the time it takes.
    Goal::at_most("s for the year", seconds, 5.0).tell();
    Goal::at_most("runs too many or too few", (figure(&found[0], 1) - TICKS).abs(), 0.0).tell();
}

/// Seconds of CPU, and how many runs there were.
pub(super) fn child(_: &[&str]) -> Vec<f64> {
    let (runs, spent) = cpu_of(|| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let year = async { year().await.unwrap_or_else(|error| panic!("{error}")) };
        runtime.map(|runtime| runtime.block_on(year)).unwrap_or(0)
    });
    #[allow(clippy::cast_precision_loss)]
    let runs = runs as f64;
    vec![spent.as_secs_f64(), runs]
}

async fn year() -> Result<u64, Box<dyn std::error::Error>> {
    let clock = TestClock::new("2025-12-31T23:59:59.5Z".parse()?);
    let backend = MemoryBackend::new().with_clock(clock.clone());
    let runs = Arc::new(AtomicU64::new(0));
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        let counted = |runs: &Arc<AtomicU64>, takes: Duration| {
            let runs = runs.clone();
            move |_| {
                let runs = runs.clone();
                async move {
                    tokio::time::sleep(takes).await;
                    runs.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let settlement = Job::new("settlement").cron("0 2 1 * *")?.time_zone("Asia/Shanghai")?;
        let rates = Job::new("rate-sync").cron("*/5 * * * *")?;
        let node = Scheduler::builder(backend.clone())
            .node_id(name)?
            .clock(clock.clone())
            .job(settlement.run(counted(&runs, Duration::from_millis(900))))?
            .job(rates.run(counted(&runs, Duration::from_millis(300))))?;
        nodes.push(node.start().await?);
    }
    tokio::time::sleep(Duration::from_secs(365 * 86_400)).await;
    for node in nodes {
        drop(node.shutdown(Duration::from_secs(1)).await);
    }
    Ok(runs.load(Ordering::Relaxed))
}
