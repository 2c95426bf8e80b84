//! The soak: a scheduler that runs 200 jobs a second on Redis for half an hour, while jobs come and
//! go, and whose memory and tasks stay as many as they were.
//!
//! ```text
//! cargo run --release -p tidelock-benches -- soak [--minutes 30]
//! ```

use std::collections::VecDeque;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cpu_time::ProcessTime;
use tidelock::{Job, Scheduler};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::namespace;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use crate::goal::Goal;
use crate::redis::Redis;
use crate::table::{Table, show};

/// The word that asks for it.
pub(crate) const WORD: &str = "soak";

pub(crate) const ABOUT: &str = "200 jobs a second on Redis for half an hour (not among the others)";

/// Jobs at any time, each due once a second.
const JOBS: usize = 200;
/// How many of them are replaced by others each second.
const TURN: usize = 10;
/// Names that jobs have in turn, so that the server has not to remember ever more marks.
const NAMES: u64 = 1_000;

/// What has glibc's allocator give back what is free, so that the memory that is measured is what is
/// in use: by itself it keeps some more of it for its threads (6.5 % in half an hour).
const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_TRIM_THRESHOLD_", "65536"), ("MALLOC_TOP_PAD_", "0")];

/// One line of the series.
struct Sample {
    second: u64,
    memory: f64,
    tasks: f64,
    runs: u64,
    cpu: f64,
    server: f64,
}

/// How many minutes, told as `--minutes N`.
pub(crate) fn minutes(words: &[String]) -> Result<u64, String> {
    match words {
        [] => Ok(30),
        [option, minutes] if option == "--minutes" => {
            let read = minutes.parse().ok().filter(|minutes| (2..=10_000).contains(minutes));
            read.ok_or(format!("--minutes {minutes}: expected a number from 2 to 10000"))
        }
        _ => Err(format!("{}: expected nothing more, or --minutes N", words.join(" "))),
    }
}

pub(crate) fn run(minutes: u64) {
    if ALLOCATOR.iter().any(|(name, _)| std::env::var_os(name).is_none()) {
        return again(minutes);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let samples = runtime.expect("a runtime").block_on(soak(minutes * 60));
    tell(&samples);
}

/// Starts this program again, with the allocator set up.
fn again(minutes: u64) {
    let program = std::env::current_exe().expect("the path of this program");
    let mut soak = Command::new(program);
    let soak = soak.args([WORD, "--minutes", &minutes.to_string()]).envs(ALLOCATOR);
    let ended = soak.status().expect("this program, once more");
    assert!(ended.success(), "{ended}");
}

async fn soak(seconds: u64) -> Vec<Sample> {
    let redis = Redis::connect().await;
    let backend = RedisBackend::connect(&redis.url, namespace()).await.expect("a server");
    let node = Scheduler::builder(backend).start().await.expect("a scheduler");
    let (runs, mut names) = (Arc::new(AtomicU64::new(0)), VecDeque::new());
    let (mut next, mut samples, begun) = (0, Vec::new(), Instant::now());
    let mut memory = f64::INFINITY;
    println!("| second | memory, KiB | tasks | runs | CPU, % of a core | Redis, KiB |");
    println!("|-------:|------------:|------:|-----:|-----------------:|-----------:|");
    for second in 0..=seconds {
        if second > 0 {
            for _ in 0..TURN {
                let name: String = names.pop_front().unwrap_or_default();
                let _ = node.remove(&name);
            }
        }
        while names.len() < JOBS {
            let name = format!("job-{}", next % NAMES);
            next += 1;
            node.add(job(&name, &runs)).expect("a new job");
            names.push_back(name);
        }
        // Half a second after the ticks, when there is nothing to do, and the least since the line
        // before: what stays is what is counted.
        sleep_until(begun + Duration::from_secs(second)).await;
        between_ticks().await;
        memory = resident().min(memory);
        let every = if second <= 60 { 10 } else { 60 };
        if second % every == 0 {
            samples.push(sample(second, memory, &redis, &runs).await);
            memory = f64::INFINITY;
            if let Some(sample) = samples.last() {
                sample.print();
            }
        }
    }
    let _ = node.shutdown(Duration::from_secs(5)).await;
    samples
}

/// A job that is due each second and takes 5 ms.
fn job(name: &str, runs: &Arc<AtomicU64>) -> Job {
    let runs = runs.clone();
    Job::new(name).cron("* * * * * *").expect("a schedule").run(move |_| {
        let runs = runs.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            runs.fetch_add(1, Ordering::Relaxed);
        }
    })
}

async fn between_ticks() {
    let now = crate::load::now().as_millisecond().rem_euclid(1_000);
    let wait = u64::try_from((1_500 - now) % 1_000).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(wait)).await;
}

async fn sample(second: u64, memory: f64, redis: &Redis, runs: &AtomicU64) -> Sample {
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let tasks = Handle::current().metrics().num_alive_tasks() as f64;
    Sample {
        second,
        memory,
        tasks,
        runs: runs.load(Ordering::Relaxed),
        cpu: ProcessTime::now().as_duration().as_secs_f64(),
        server: redis.used_memory().await / 1024.0,
    }
}

/// KiB of memory that this process has in hand.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(f64::NAN)
}

impl Sample {
    fn print(&self) {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let part = 100.0 * self.cpu / self.second.max(1) as f64;
        println!(
            "| {:6} | {:11} | {:5} | {:4} | {:16.1} | {:10} |",
            self.second,
            self.memory,
            self.tasks,
            self.runs,
            part,
            self.server.round()
        );
    }
}

/// The summary: how much there was after the first minute, and what became of it.
fn tell(samples: &[Sample]) {
    let rest: Vec<&Sample> = samples.iter().filter(|sample| sample.second >= 60).collect();
    let (Some(first), Some(last)) = (rest.first(), rest.last()) else { return };
    let mut table = Table::new(&["", "after a minute", "least", "most", "at the end"]);
    let mut row = |name, figure: fn(&Sample) -> f64| {
        let all: Vec<f64> = rest.iter().map(|sample| figure(sample)).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        table.row(name, [figure(first), least, most, figure(last)].map(show));
        100.0 * (figure(last) / figure(first) - 1.0)
    };
    let memory = row("memory, KiB", |sample| sample.memory);
    let tasks = row("tasks", |sample| sample.tasks);
    let _ = row("Redis, KiB", |sample| sample.server);
    println!();
    table.print();
    let seconds = last.second - first.second;
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let rate = (last.runs - first.runs) as f64 / seconds as f64;
    Goal::at_least("runs a second", rate, 190.0).tell();
    Goal::at_most("memory after the first minute: % more", memory, 1.0).tell();
    Goal::at_most("tasks after the first minute: % more", tasks, 0.0).tell();
}
