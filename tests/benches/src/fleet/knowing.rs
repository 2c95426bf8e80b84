//! How long it takes until every node knows who won a tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tidelock::Acquisition;
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::namespace;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::NODES;
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{Jobs, Ticks, random, runtime};
use crate::measure::{interleaved, median, us};
use crate::redis::{Floor, Redis, backend, connect};
use crate::table::{Table, show};

pub(crate) const BENCH: Bench = Bench {
    name: "fleet-knows",
    about: "one tick, 50 nodes on Redis: until everyone knows who won, beside `SET NX` by tick",
    run,
    child: None,
};

const ROUNDS: usize = 15;
const TICKS: usize = 20;

fn run() {
    let runtime = runtime();
    let (redis, ours, plain) = runtime.block_on(async {
        let redis = Redis::connect().await;
        let (name, mut ours, mut plain) = (namespace(), Vec::new(), Vec::new());
        for node in 0..NODES {
            let backend = backend(&redis.url, &name, 100).await;
            ours.push(Arc::new(Jobs::new(backend, 1, &format!("node-{node}"))));
            plain.push(connect(&redis.url).await);
        }
        (redis, ours, plain)
    });
    let floor = runtime.block_on(async { Floor::new(&redis.url, &namespace(), 1).await });
    let (ticks, calls) = (Ticks::new(), AtomicU64::new(0));
    let name = namespace();
    let contenders = ["SET NX by tick", "floor: a script by hand", "tidelock"];
    let found = interleaved(ROUNDS, &contenders, |contender| {
        runtime.block_on(async {
            let before = redis.executed("evalsha").await.0;
            let mut times = Vec::new();
            for _ in 0..TICKS {
                let (tick, _) = ticks.next();
                times.push(us(match *contender {
                    "tidelock" => tidelock(&ours, tick).await,
                    "SET NX by tick" => set_nx(&plain, &format!("tick:{name}:{tick}")).await,
                    _ => floor.everyone_knows(&plain, tick).await,
                }));
                sleep(Duration::from_millis(2)).await;
            }
            let now = redis.executed("evalsha").await.0;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let made = (now - before) as u64;
            if *contender == "tidelock" {
                calls.fetch_add(made, Ordering::Relaxed);
            }
            vec![median(times)]
        })
    });
    let mut table = Table::new(&["50 nodes, one tick", "everyone knows after, us"]);
    for (name, figures) in contenders.iter().zip(&found) {
        table.row(name, [show(figures[0])]);
    }
    table.print();
    let [plain, floor, ours] = &found[..] else { return };
    Goal::at_most("until everyone knows, of `SET NX` by tick", ours[0] / plain[0], 1.3)
        .floor(floor[0] / plain[0])
        .tell();
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let calls = calls.load(Ordering::Relaxed) as f64 / (ROUNDS * TICKS) as f64;
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let nodes = NODES as f64;
    Goal::at_most("calls a tick of 50 nodes, the run's end included", calls, nodes + 1.0).tell();
}

/// All nodes ask at once; the time until the last one knows. The run has no length.
async fn tidelock(nodes: &[Arc<Jobs<RedisBackend>>], tick: i64) -> Duration {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for (number, node) in (0..).zip(nodes) {
        let node = node.clone();
        tasks.spawn(async move {
            let (request, record) = node.ask_for(0, tick, random(tick) ^ number);
            match node.begin(&request, &record).await {
                Acquisition::Granted(grant) => Some((node, grant.lease, record)),
                Acquisition::AlreadyTaken(_) => None,
                other => panic!("{other:?}"),
            }
        });
    }
    let answers = tasks.join_all().await;
    let took = begun.elapsed();
    let won: Vec<_> = answers.into_iter().flatten().collect();
    assert_eq!(won.len(), 1, "one node runs it");
    for (node, lease, record) in won {
        node.finish(&lease, record).await;
    }
    took
}

async fn set_nx(nodes: &[MultiplexedConnection], key: &str) -> Duration {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for (number, node) in nodes.iter().enumerate() {
        let (mut node, key) = (node.clone(), key.to_owned());
        tasks.spawn(async move {
            let mut command = redis::cmd("SET");
            let command = command.arg(key).arg(format!("node-{number}"));
            let command = command.arg("NX").arg("PX").arg(60_000);
            let won: Option<String> = command.query_async(&mut node).await.expect("an answer");
            won.is_some()
        });
    }
    let answers = tasks.join_all().await;
    let took = begun.elapsed();
    assert_eq!(answers.iter().filter(|won| **won).count(), 1, "one node has it");
    took
}
