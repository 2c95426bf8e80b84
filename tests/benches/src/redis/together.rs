//! Runs that are due together: each asks for its tick by itself, at the same time.

use std::sync::Arc;
use std::time::Duration;

use cpu_time::ProcessTime;
use tidelock_tests::servers::namespace;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::floor::Floor;
use super::{Redis, ours};
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{COLUMNS, Runs, Server, fill, runtime};
use crate::measure::{interleaved, us};
use crate::table::{Table, ratio, show};

pub(crate) const BENCH: Bench = Bench {
    name: "redis-64-together",
    about: "64 runs due together on Redis beside 64 runs of the floor in pipelines",
    run,
    child: None,
};

const JOBS: usize = 64;
const ROUNDS: usize = 9;
const BATCHES: u32 = 100;

fn run() {
    let runtime = runtime();
    let (redis, floor, ours) = runtime.block_on(async {
        let redis = Redis::connect().await;
        let floor = Arc::new(Floor::new(&redis.url, &namespace(), JOBS).await);
        let ours = Arc::new(ours(&redis.url, JOBS).await);
        fill(&floor, JOBS, 101).await;
        fill(&ours, JOBS, 101).await;
        (redis, floor, ours)
    });
    let names = ["floor, pipelined", "tidelock"];
    let found = interleaved(ROUNDS, &names, |name| {
        runtime.block_on(async {
            let (begun, before, server) = (Instant::now(), ProcessTime::now(), redis.cpu().await);
            for _ in 0..BATCHES {
                if *name == "tidelock" {
                    together(&ours).await
                } else {
                    floor.pipelined(JOBS).await
                }
            }
            let (took, client) = (begun.elapsed(), before.elapsed());
            let server = redis.cpu().await.saturating_sub(server);
            figures(took, server, client)
        })
    });
    let mut table = Table::new(&["64 together", COLUMNS[0], COLUMNS[1], COLUMNS[2]]);
    for (name, figures) in names.iter().zip(&found) {
        table.row(name, figures.iter().map(|figure| show(*figure)));
    }
    let [floor, ours] = &found[..] else { return };
    let against = ours.iter().zip(floor).map(|(ours, floor)| ratio(*ours, *floor));
    table.row("tidelock / floor", against);
    table.print();
    Goal::at_least("64 together: runs a second, of the floor's", ours[0] / floor[0], 0.7).tell();
}

#[expect(clippy::cast_precision_loss, reason = "small")]
fn figures(took: Duration, server: Duration, client: Duration) -> Vec<f64> {
    let runs = f64::from(BATCHES) * JOBS as f64;
    vec![runs / took.as_secs_f64(), us(server) / runs, us(client) / runs]
}

/// A task for each, as an engine has it.
async fn together(runs: &Arc<impl Runs>) {
    let mut tasks = JoinSet::new();
    for job in 0..JOBS {
        let runs = runs.clone();
        tasks.spawn(async move { runs.run(job).await });
    }
    tasks.join_all().await;
}
