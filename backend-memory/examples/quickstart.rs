//! Three nodes, one memory backend, three jobs; one node's clock is 2 s slow.
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use tidelock::{Clock, Job, JobBuilder, Scheduler, SystemClock, TestClock};
use tidelock_memory::MemoryBackend;

const JOBS: [(&str, &str); 3] = [
    ("settlement", "0 0 2 1 * *"),
    ("rate-sync", "0 */5 * * * *"),
    ("heartbeat", "* * * * * *"),
];

fn job((id, expression): (&str, &str)) -> Result<Job, Box<dyn std::error::Error>> {
    let job: JobBuilder = Job::new(id)
        .cron(expression)?
        .timeout(Duration::from_secs(600));
    Ok(job.run(|run| async move {
        println!(
            "{:>10}  {:?}  ran on {}",
            run.job().as_str(),
            run.occurrence(),
            run.node()
        );
    }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = MemoryBackend::new();
    let clock = TestClock::new(SystemClock.now());
    let mut nodes = Vec::new();
    for (name, ahead) in [("node-a", 0), ("node-b", 0), ("node-c", -2)] {
        let mut node = Scheduler::builder(backend.clone())
            .node_id(name)?
            .clock(clock.skewed(SignedDuration::from_secs(ahead)));
        for each in JOBS {
            node = node.job(job(each)?)?;
        }
        nodes.push(node.start().await?);
    }
    // Ticks are whole seconds: begin and end are half a second away from them.
    let started = clock.now();
    let into_second = started.subsec_millisecond().unsigned_abs();
    tokio::time::sleep(Duration::from_millis(10_500 - u64::from(into_second))).await;

    let (mut ticks, mut runs, stopped) = (0, BTreeMap::new(), clock.now());
    let control = nodes[0].control();
    for node in nodes {
        let report = node.shutdown(Duration::from_secs(5)).await;
        assert!(report.still_running.is_empty());
    }
    println!(
        "\n{:<10}  {:<20}  {:<7}  {:<9}  token",
        "job", "tick", "node", "state"
    );
    for (id, expression) in JOBS {
        let schedule = tidelock::Schedule::cron(expression)?;
        ticks += schedule.count_between(started, stopped, u64::MAX).count;
        for record in control.history(id, 100).await? {
            let Some((tick, token)) = record.occurrence.zip(record.token) else {
                continue;
            };
            println!(
                "{id:<10}  {tick}  {:<7}  {:<9}  {token}",
                record.node.as_str(),
                record.state
            );
            if tick.at() > started && tick.at() <= stopped {
                *runs.entry((id, tick)).or_insert(0) += 1;
            }
        }
    }
    let all: u64 = runs.values().sum();
    let repeated = all - runs.len() as u64;
    let missed = ticks - runs.len() as u64;
    println!("\nticks: {ticks}  runs: {all}  nodes: 3  repeated: {repeated}  missed: {missed}");
    Ok(())
}
