//! What the script `run` beside this counts the instructions of: the same work `N` times. A package
//! of its own, so that it is built soon.

use std::hint::black_box;
use std::time::Duration;

use jiff::Timestamp;
use tidelock::{Job, Schedule, Scheduler, TestClock};
use tidelock_memory::MemoryBackend;

/// How many jobs fire at each tick.
const JOBS: usize = 50;

/// Does what the words say: `fire N`, `next N EXPRESSION ZONE` or `parse N EXPRESSION ZONE`.
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let times = words.get(1).and_then(|times| times.parse().ok()).unwrap_or(0);
    match words[..] {
        ["fire", _] => fire(times),
        ["next", _, expression, zone] => {
            let schedule = schedule(expression, zone);
            let mut at = Timestamp::UNIX_EPOCH;
            for _ in 0..times {
                at = schedule.next_after(black_box(at)).unwrap_or_default();
            }
            black_box(at);
        }
        ["parse", _, expression, zone] => {
            for _ in 0..times {
                black_box(schedule(black_box(expression), zone));
            }
        }
        _ => panic!("unknown: {words:?}"),
    }
}

fn schedule(expression: &str, zone: &str) -> Schedule {
    let schedule = Schedule::cron(expression).and_then(|schedule| schedule.time_zone(zone));
    schedule.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs each job that many times, over the memory backend, on one thread in mocked time: whatever
/// a run needs, from the queue to the stored record and the next place in the queue.
fn fire(times: u64) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
    runtime.block_on(async {
        let ran = fired(times).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(ran, times * JOBS as u64, "not each tick was run once");
    });
}

async fn fired(times: u64) -> Result<u64, Box<dyn std::error::Error>> {
    let clock = TestClock::new("2027-01-01T00:00:00.5Z".parse()?);
    let backend = MemoryBackend::new().with_clock(clock.clone()).keep(10);
    let ran = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let mut builder = Scheduler::builder(backend).node_id("node")?.clock(clock).seed(1);
    for job in 0..JOBS {
        let ran = ran.clone();
        let job = Job::new(format!("job-{job}")).cron("* * * * * *")?.time_zone("Europe/Berlin")?;
        builder = builder.job(job.run(move |_| {
            ran.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::future::ready(())
        }))?;
    }
    let scheduler = builder.start().await?;
    tokio::time::sleep(Duration::from_secs(times)).await;
    drop(scheduler.shutdown(Duration::from_secs(1)).await);
    Ok(ran.load(std::sync::atomic::Ordering::Relaxed))
}
