//! One node of a fleet, as a service would embed it. SIGTERM and Ctrl-C drain it.
//!
//! ```text
//! cargo run -p tidelock-redis --example node -- --redis redis://127.0.0.1
//! ```
//!
//! Start it several times: each tick runs on one of them. It prints a line when a run starts and one
//! when it ends: the tick, the fencing token, the run and the time, in milliseconds since 1970.
#![allow(clippy::print_stdout, reason = "an example talks to who runs it")]

use std::error::Error;
use std::time::Duration;

use jiff::SignedDuration;
use tidelock::{Clock, Job, Scheduler, SystemClock, TestClock};
use tidelock_redis::RedisBackend;
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "node --redis URL [--namespace NAME] [--node NAME] [--cron EXPRESSION] \
    [--takes MILLISECONDS] [--ttl MILLISECONDS] [--skew MILLISECONDS]";

/// What the command line says.
struct Settings {
    redis: String,
    namespace: String,
    node: String,
    cron: String,
    takes: Duration,
    ttl: Duration,
    skew: SignedDuration,
}

impl Settings {
    fn from_arguments() -> Result<Self, Box<dyn Error>> {
        let mut settings = Self {
            redis: String::new(),
            namespace: "example".into(),
            node: format!("node-{}", std::process::id()),
            cron: "* * * * * *".into(),
            takes: Duration::from_millis(100),
            ttl: Duration::from_secs(30),
            skew: SignedDuration::ZERO,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(USAGE)?;
            match name.as_str() {
                "--redis" => settings.redis = value,
                "--namespace" => settings.namespace = value,
                "--node" => settings.node = value,
                "--cron" => settings.cron = value,
                "--takes" => settings.takes = Duration::from_millis(value.parse()?),
                "--ttl" => settings.ttl = Duration::from_millis(value.parse()?),
                "--skew" => settings.skew = SignedDuration::from_millis(value.parse()?),
                _ => return Err(USAGE.into()),
            }
        }
        if settings.redis.is_empty() {
            return Err(USAGE.into());
        }
        Ok(settings)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::from_arguments()?;
    let takes = settings.takes;
    let job = Job::new("example").cron(&settings.cron)?.lock_ttl(settings.ttl).run(
        move |run| async move {
            let tick = run.occurrence().map(|tick| tick.as_millisecond());
            let (tick, token) = (tick.unwrap_or_default(), run.fencing_token());
            let now = || SystemClock.now().as_millisecond();
            println!("start {tick} {token} {} {}", run.run_id(), now());
            tokio::time::sleep(takes).await;
            println!("end {tick} {token} {} {}", run.run_id(), now());
        },
    );
    let backend = RedisBackend::connect(&settings.redis, settings.namespace).await?;
    let scheduler = Scheduler::builder(backend)
        .node_id(settings.node)?
        // A service leaves the clock as it is: this one is for trying out what a wrong one does.
        .clock(TestClock::new(SystemClock.now()).skewed(settings.skew))
        .job(job)?
        .start()
        .await?;

    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let report = scheduler.shutdown(Duration::from_secs(10)).await;
    println!("{report:?}");
    Ok(())
}
