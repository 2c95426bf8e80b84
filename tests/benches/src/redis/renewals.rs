//! Many runs at once, each of which keeps its lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cpu_time::ProcessTime;
use jiff::SignedDuration;
use tidelock::{Job, Scheduler};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::namespace;
use tokio::time::{Instant, sleep};

use super::Redis;
use super::watched::Watched;
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{Server, TTL, now, runtime};
use crate::measure::us;
use crate::table::{Table, show};

pub(crate) const BENCH: Bench = Bench {
    name: "redis-renewals",
    about: "1,000 runs at once, each of which renews its lock on Redis every third of its life",
    run,
    child: None,
};

const RUNS: usize = 1_000;
/// Each run renews its lock three times in it.
const WINDOW: Duration = Duration::from_secs(30);

fn run() {
    let runtime = runtime();
    let (gaps, client, server) = runtime.block_on(measure());
    let late = |gap: &Duration| gap.saturating_sub(TTL / 3).as_secs_f64() * 1e3;
    let mut late: Vec<f64> = gaps.iter().map(late).collect();
    let part = |cpu: Duration| 100.0 * cpu.as_secs_f64() / WINDOW.as_secs_f64();
    let each = |cpu: Duration| {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let renewals = gaps.len() as f64;
        show(us(cpu) / renewals)
    };
    let percentile = |late: &mut [f64], part| show(crate::measure::percentile(late, part));
    let mut table = Table::new(&["1,000 runs, TTL 30 s, 30 s long", "figure"]);
    table.row("renewals", [gaps.len().to_string()]);
    table.row("client CPU, % of a core", [show(part(client))]);
    table.row("server CPU, % of a core", [show(part(server))]);
    table.row("client CPU a renewal, us", [each(client)]);
    table.row("late, p50, ms", [percentile(&mut late, 0.5)]);
    table.row("late, p99, ms", [percentile(&mut late, 0.99)]);
    table.print();
    let most = crate::measure::percentile(&mut late, 1.0);
    Goal::at_most("renewals of 1,000 runs: % of a core", part(client + server), 2.0).tell();
    Goal::at_most("latest renewal, of TTL/10", most / (TTL.as_secs_f64() * 100.0), 1.0).tell();
}

/// What passed between renewals, and the CPU time of this process and of the server meanwhile.
async fn measure() -> (Vec<Duration>, Duration, Duration) {
    let redis = Redis::connect().await;
    let backend = RedisBackend::connect(&redis.url, namespace()).await.expect("a server");
    let backend = Watched::new(backend);
    let running = Arc::new(AtomicUsize::new(0));
    let mut node = Scheduler::builder(backend.clone());
    let at = now() + SignedDuration::from_secs(2);
    for number in 0..RUNS {
        let running = running.clone();
        let job = Job::new(format!("job-{number}")).once(at).lock_ttl(TTL).run(move |run| {
            let running = running.clone();
            async move {
                running.fetch_add(1, Ordering::Relaxed);
                run.cancellation().cancelled().await;
            }
        });
        node = node.job(job).expect("a job");
    }
    let node = node.start().await.expect("a scheduler");
    let asked = Instant::now();
    while running.load(Ordering::Relaxed) < RUNS {
        assert!(asked.elapsed() < TTL, "{} runs have started", running.load(Ordering::Relaxed));
        sleep(Duration::from_millis(100)).await;
    }
    let _ = backend.take();
    let (before, server_before) = (ProcessTime::now(), redis.cpu().await);
    sleep(WINDOW).await;
    let (client, server) = (before.elapsed(), redis.cpu().await.saturating_sub(server_before));
    let gaps = backend.take();
    let _ = node.shutdown(Duration::ZERO).await;
    (gaps, client, server)
}
