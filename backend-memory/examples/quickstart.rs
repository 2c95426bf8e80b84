//! Three nodes over one memory backend, three jobs; the clock of one node is 2 s slow.
#![allow(clippy::print_stdout, reason = "an example talks to who runs it")]
use std::{collections::BTreeSet, error::Error, time::Duration};

use jiff::SignedDuration;
use tidelock::{Clock, Job, Schedule, Scheduler, SystemClock, TestClock};
use tidelock_memory::MemoryBackend;

const JOBS: [(&str, &str); 3] = [
    ("settlement", "0 0 2 1 * *"),
    ("rate-sync", "0 */5 * * * *"),
    ("every-second", "* * * * * *"),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("three nodes, the clock of node-c 2 s slow, ten seconds: each tick on one node\n");
    let backend = MemoryBackend::new();
    let clock = TestClock::new(SystemClock.now());
    let mut nodes = Vec::new();
    for (name, ahead) in [("node-a", 0), ("node-b", 0), ("node-c", -2)] {
        let own_clock = clock.skewed(SignedDuration::from_secs(ahead));
        let mut node = Scheduler::builder(backend.clone()).node_id(name)?.clock(own_clock);
        for (id, expression) in JOBS {
            node = node.job(Job::new(id).cron(expression)?.run(|run| async move {
                if let Some(tick) = run.occurrence() {
                    println!("{tick}  {} on {}", run.job(), run.node());
                }
            }))?;
        }
        nodes.push(node.start().await?);
    }
    let started = clock.now();
    // Until half a second after the tenth tick: the count does not hang on a millisecond.
    let into_second = started.subsec_millisecond().unsigned_abs();
    tokio::time::sleep(Duration::from_millis(10_500 - u64::from(into_second))).await;

    let (stopped, control) = (clock.now(), nodes[0].control());
    for node in nodes {
        let (name, health) = (node.node_id().clone(), node.health());
        println!("{name}: {} runs, {} ticks that others had taken", health.runs, health.ticks_lost);
        drop(node.shutdown(Duration::from_secs(5)).await);
    }
    println!("\n{:<14}{:<22}{:<8}{:<11}token", "job", "tick", "node", "state");
    let (mut ticks, mut runs, mut distinct) = (0, 0, BTreeSet::new());
    for (id, expression) in JOBS {
        ticks += Schedule::cron(expression)?.count_between(started, stopped, u64::MAX).count;
        for record in control.history(id, 100).await? {
            let (Some(tick), Some(token)) = (record.occurrence, record.token) else {
                continue;
            };
            println!("{id:<14}{tick:<22}{:<8}{:<11}{token}", record.node, record.state);
            if tick.at() > started && tick.at() <= stopped {
                runs += 1;
                distinct.insert((id, tick));
            }
        }
    }
    let (once, nodes) = (distinct.len() as u64, 3);
    let (repeated, missed) = (runs - once, ticks - once);
    println!(
        "\nticks: {ticks}  runs: {runs}  nodes: {nodes}  repeated: {repeated}  missed: {missed}"
    );
    Ok(())
}
