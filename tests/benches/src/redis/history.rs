//! Histories, short and long.

use std::time::Duration;

use tidelock::{Acquisition, RecordQuery, RecordStore};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::namespace;
use tokio::task::JoinSet;

use super::{Redis, backend};
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{Jobs, now, random, runtime};
use crate::measure::interleaved;
use crate::table::{Table, ratio, show};

pub(crate) const BENCH: Bench = Bench {
    name: "redis-history",
    about: "a run's end and a list of 100 with 10 and with 100,000 runs behind them; bytes a record",
    run,
    child: None,
};

const LONG: usize = 100_000;
const ROUNDS: usize = 5;
const CALLS: u32 = 100;

fn run() {
    let runtime = runtime();
    // Of each: how many runs are behind, and how many are kept.
    let cases = [("10, of 100,000 kept", 10, LONG), ("100, of 100 kept", 100, 100)];
    let long = [("100,000, all kept", LONG, LONG), ("100,000, of 100 kept", LONG, 100)];
    let cases = [cases, long].concat();
    let (redis, jobs, bytes) = runtime.block_on(async {
        let redis = Redis::connect().await;
        let mut jobs = Vec::new();
        for (_, behind, keep) in &cases {
            jobs.push(history(&redis.url, *behind, *keep).await);
        }
        let bytes = bytes(&redis).await;
        (redis, jobs, bytes)
    });
    let found =
        interleaved(ROUNDS, &jobs, |jobs| runtime.block_on(async { figures(&redis, jobs).await }));
    let columns = ["runs behind", "`finish`: server us", "`list(100)`: server us", "records"];
    let mut table = Table::new(&columns);
    for ((name, ..), figures) in cases.iter().zip(&found) {
        table.row(name, figures.iter().map(|figure| show(*figure)));
    }
    let [_, short, all, passed] = &found[..] else { return };
    let against = |figures: &[f64], at: usize| ratio(figures[at], short[at]);
    table.row("100,000 kept / 100 kept", [against(all, 0), against(all, 1)]);
    table.print();
    for (name, figures) in [("kept", all), ("behind", passed)] {
        for (at, call) in ["finish", "list(100)"].iter().enumerate() {
            let what = format!("`{call}` with 100,000 {name}, of that with 100");
            Goal::at_most(what, figures[at] / short[at], 1.15).tell();
        }
    }
    Goal::at_most("bytes a record of a short run", bytes, 250.0).tell();
}

/// A job with so many runs behind it.
async fn history(url: &str, behind: usize, keep: usize) -> Jobs<RedisBackend> {
    let backend = backend(url, &namespace(), keep).await;
    let jobs = std::sync::Arc::new(Jobs::new(backend, 1, "node-1"));
    let mut tasks = JoinSet::new();
    for part in 0..behind.min(100) {
        let jobs = jobs.clone();
        let each = (part..behind).step_by(100).count();
        tasks.spawn(async move {
            for _ in 0..each {
                jobs.save(0).await;
            }
        });
    }
    tasks.join_all().await;
    std::sync::Arc::into_inner(jobs).expect("no task is left")
}

/// What a `finish` and a list take the server, in microseconds, by its own count; and how many
/// records were listed.
async fn figures(redis: &Redis, jobs: &Jobs<RedisBackend>) -> Vec<f64> {
    let (mut finishing, mut listing, mut listed) = (0.0, 0.0, 0);
    for _ in 0..CALLS {
        let (request, record) = jobs.ask(0);
        let Acquisition::Granted(grant) = jobs.begin(&request, &record).await else {
            panic!("a tick that nobody else asks for is granted");
        };
        let before = redis.executed("evalsha").await.1;
        jobs.finish(&grant.lease, record).await;
        let between = redis.executed("evalsha").await.1;
        let query = RecordQuery::newest(jobs.id(0), 100);
        listed = jobs.backend.list(&query).await.expect("a list").len();
        finishing += between - before;
        listing += redis.executed("evalsha").await.1 - between;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 100")]
    let listed = listed as f64;
    vec![finishing / f64::from(CALLS), listing / f64::from(CALLS), listed]
}

/// Bytes that each of 100 runs takes that were granted in time and have ended, in all keys of its
/// history.
async fn bytes(redis: &Redis) -> f64 {
    let name = namespace();
    let jobs = Jobs::new(backend(&redis.url, &name, 100).await, 1, "node-1");
    for _ in 0..100 {
        // The next one's tick is a later one.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let tick = now().as_millisecond();
        let (request, record) = jobs.ask_for(0, tick, random(tick));
        let Acquisition::Granted(grant) = jobs.begin(&request, &record).await else {
            panic!("a tick that nobody else asks for is granted");
        };
        jobs.finish(&grant.lease, record).await;
    }
    let mut bytes = 0.0;
    for part in ["runs", "records", "running", "skipped"] {
        bytes += redis.memory(&format!("tidelock:{{{name}:job-0}}:{part}")).await;
    }
    bytes / 100.0
}
