//! How often a tick runs where the nodes' clocks differ.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{Clock, Job, Occurrence, RunContext, Scheduler, SystemClock};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::namespace;
use tokio::time::sleep;

use super::NODES;
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::runtime;
use crate::redis::Redis;
use crate::table::{Table, show};

pub(crate) const BENCH: Bench = Bench {
    name: "fleet-skew",
    about: "one tick, 50 schedulers on Redis with skewed clocks: runs and calls a tick",
    run,
    child: None,
};

const PERIOD: Duration = Duration::from_millis(250);
const WATCHED: Duration = Duration::from_millis(3_000);

/// A machine's clock that is ahead by so much.
#[derive(Clone, Copy, Debug)]
struct Ahead(SignedDuration);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now() + self.0
    }
}

type Seen = Arc<Mutex<HashMap<Occurrence, u32>>>;

fn run() {
    let runtime = runtime();
    let columns = ["skew, job", "ticks", "runs a tick", "most", "calls a tick"];
    let mut table = Table::new(&columns);
    let (mut most_runs, mut most_calls) = (0.0_f64, 0.0_f64);
    for skew in [0, 20, 100] {
        for job in [0, 10] {
            let found = runtime.block_on(fleet(skew, Duration::from_millis(job)));
            most_runs = most_runs.max(found[2]);
            most_calls = most_calls.max(found[3]);
            table.row(&format!("{skew} ms, {job} ms"), found.map(show));
        }
    }
    table.print();
    Goal::at_most("runs of any tick", most_runs, 1.0).tell();
    Goal::at_most("calls a tick of 50 nodes, the run's end included", most_calls, 51.0).tell();
}

/// Ticks, runs a tick, the most of one, and calls a tick.
async fn fleet(skew: u64, length: Duration) -> [f64; 4] {
    let redis = Redis::connect().await;
    let (name, seen) = (namespace(), Seen::default());
    let mut nodes = Vec::new();
    for number in 0..NODES {
        let backend = RedisBackend::connect(&redis.url, &name).await.expect("a server");
        let seen = seen.clone();
        let job = Job::new("job").every(PERIOD).expect("a period").run(move |run: RunContext| {
            if let Some(tick) = run.occurrence() {
                *seen.lock().unwrap_or_else(PoisonError::into_inner).entry(tick).or_default() += 1;
            }
            async move { sleep(length).await }
        });
        // From none to the whole of it, spread evenly.
        let ahead = skew * number as u64 * 1_000 / (NODES as u64 - 1);
        let clock = Ahead(SignedDuration::from_micros(i64::try_from(ahead).unwrap_or(0)));
        let node = Scheduler::builder(backend).clock(clock).job(job).expect("a job");
        nodes.push(node.start().await.expect("a scheduler"));
    }
    sleep(Duration::from_millis(600)).await;
    // Between two ticks, as far as any of the clocks can tell.
    between_ticks(skew, length).await;
    let before = (redis.executed("evalsha").await.0, count(&seen));
    sleep(WATCHED).await;
    between_ticks(skew, length).await;
    let calls = redis.executed("evalsha").await.0 - before.0;
    let after = count(&seen);
    for node in nodes {
        let _ = node.shutdown(Duration::from_secs(1)).await;
    }
    let (ticks, runs) = (f64::from(after.0 - before.1.0), f64::from(after.1 - before.1.1));
    [ticks, runs / ticks, f64::from(after.2), calls / ticks]
}

/// How many ticks ran, how many runs there were, and how many of one tick at most.
fn count(seen: &Seen) -> (u32, u32, u32) {
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let most = seen.values().max().copied().unwrap_or(0);
    (u32::try_from(seen.len()).unwrap_or(u32::MAX), seen.values().sum(), most)
}

/// Waits until every node has had time to ask for the last tick, and none asks for the next.
async fn between_ticks(skew: u64, length: Duration) {
    let quiet = Duration::from_millis(60) + length;
    let period = i128::try_from(PERIOD.as_nanos()).unwrap_or(i128::MAX);
    loop {
        // By the clock that is behind all others.
        let since = SystemClock.now().as_nanosecond().rem_euclid(period);
        let since = Duration::from_nanos(u64::try_from(since).unwrap_or(0));
        if since >= quiet && since + Duration::from_millis(skew + 30) < PERIOD {
            return;
        }
        sleep(Duration::from_millis(3)).await;
    }
}
