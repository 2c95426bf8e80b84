//! Handlers that panic, wherever they can.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidelock::{EventKind, Job, JobBuilder, RunContext, RunState};
use tidelock_tests::{NodeSpawner, Op};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, job, ms, secs};
use crate::node::{Node, assert_tidy, stored, told};

/// Panics when it is dropped.
struct Falls(&'static str);

impl Drop for Falls {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// Panics when it is told.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("in display")
    }
}

impl std::error::Error for Unspeakable {}

/// Speaks, and panics when it is dropped.
#[derive(Debug)]
struct Ungone;

impl fmt::Display for Ungone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("spoken")
    }
}

impl std::error::Error for Ungone {}

impl Drop for Ungone {
    fn drop(&mut self) {
        panic!("in an error's destructor");
    }
}

/// The job panics at each tick, and its neighbour in the same second is never late.
async fn proves_panic(text: &str, takes: u64, panicky: impl FnOnce(JobBuilder) -> Job) {
    let (fleet, diary, start) = (Fleet::new(), Diary::default(), Instant::now());
    let builder = Job::new("panics").cron("* * * * *").unwrap();
    let neighbour = job("calm", "* * * * * *", ms(10), &diary);
    let jobs = [panicky(builder), neighbour];
    let mut node = Node::start(&fleet, "a", jobs).await;
    for tick in 1..=3 {
        sleep(ms(501) + secs(takes)).await;
        // At once, with neither a lock left nor a renewal to come (BR-045, BR-072).
        assert_tidy(&fleet, "panics").await;
        let renewals = node.faults.count(Op::Renew);
        sleep(ms(59_499) - secs(takes)).await;
        assert_eq!(node.faults.count(Op::Renew), renewals, "{text}");
        let records = stored(&fleet, "panics").await;
        assert_eq!(records.len(), tick, "{text}: {records:#?}");
        let last = &records[tick - 1];
        assert_eq!(last.state, RunState::Panicked, "{text}");
        assert_eq!(last.error(), Some(format!("panic: {text}").as_str()));
    }
    let told = told(&diary, start);
    let starts: Vec<_> = told.iter().filter(|e| e.2 == "start").map(|e| e.0).collect();
    assert_eq!(starts.len(), 180, "{text}");
    let late = |(n, at): (usize, &f64)| (at - (0.5 + f64::from(u32::try_from(n).unwrap()))).abs();
    assert!(starts.iter().enumerate().map(late).all(|late| late < 0.002), "{text}");
    let state = RunState::Panicked;
    let ended =
        |kind: &EventKind| matches!(kind, EventKind::RunEnded { state: s, .. } if *s == state);
    assert_eq!(node.events().iter().filter(|kind| ended(kind)).count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_future_is_there_is_recorded_and_the_next_tick_runs() {
    #[expect(unreachable_code, reason = "it panics, as it should")]
    fn panics(_: RunContext) -> std::future::Ready<()> {
        panic!("before the future");
        std::future::ready(())
    }
    proves_panic("before the future", 0, |job| job.run(panics)).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_is_recorded_and_the_next_tick_runs() {
    async fn panics(run: RunContext) {
        panic!("attempt {}", run.attempt());
    }
    proves_panic("attempt 1", 0, |job| job.run(panics)).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_after_an_await_and_some_renewals_is_recorded_and_stops_the_renewals() {
    async fn panics(_: RunContext) {
        sleep(secs(25)).await;
        panic!("late");
    }
    proves_panic("late", 25, |job| job.run(panics)).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_with_a_payload_that_is_no_text_is_recorded() {
    async fn number(_: RunContext) {
        std::panic::panic_any(42);
    }
    async fn falls(_: RunContext) {
        std::panic::panic_any(Falls("once more"));
    }
    proves_panic("a value that is no text", 0, |job| job.run(number)).await;
    proves_panic("a value that is no text", 0, |job| job.run(falls)).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_destructor_is_recorded_even_when_the_handler_had_ended_well() {
    // Dropped by the handler itself at its end.
    proves_panic("in a local", 0, |job| {
        job.run(|_| async {
            let _falls = Falls("in a local");
            sleep(ms(0)).await;
        })
    })
    .await;
    // Dropped with the future, after its end.
    struct Ends(#[expect(dead_code, reason = "it is there to be dropped")] Falls);
    impl Future for Ends {
        type Output = ();
        fn poll(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<()> {
            std::task::Poll::Ready(())
        }
    }
    proves_panic("with the future", 0, |job| job.run(|_| Ends(Falls("with the future")))).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_destructor_of_a_handler_that_is_dropped_is_recorded() {
    let (fleet, start) = (Fleet::new(), ms(500));
    let hangs = Job::new("j").cron("* * * * *").unwrap().timeout(secs(5));
    let hangs = hangs.run(|_| async {
        let _falls = Falls("told to stop");
        std::future::pending::<()>().await;
    });
    let node = Node::start(&fleet, "a", [hangs]).await;
    sleep(start + secs(5) + ms(1_001)).await;
    assert_tidy(&fleet, "j").await;
    let records = stored(&fleet, "j").await;
    // Why it was stopped counts for more than what it did then, which is told all the same.
    assert_eq!(records[0].state, RunState::TimedOut);
    assert_eq!(records[0].error(), Some("panic: told to stop"));
    sleep(secs(60)).await;
    assert_eq!(stored(&fleet, "j").await.len(), 2);
    drop(node);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_an_errors_display_or_destructor_is_recorded() {
    proves_panic("in display", 0, |job| job.run(|_| async { Err(Unspeakable) })).await;
    proves_panic("in an error's destructor", 0, |job| job.run(|_| async { Err(Ungone) })).await;
}

#[tokio::test]
async fn a_panic_on_a_thread_is_recorded() {
    let fleet = Fleet::new();
    let job = Job::new("j").cron("0 0 1 1 *").unwrap();
    let job = job.run_blocking(|_| -> () { panic!("on a thread") });
    let node = Node::start(&fleet, "a", [job]).await;
    node.scheduler.run_now("j").await.unwrap();
    let report = node.scheduler.shutdown(secs(10)).await;
    assert_eq!((report.cancelled, report.unsaved_records), (0, 0));
    let records = stored(&fleet, "j").await;
    assert_eq!(records[0].state, RunState::Panicked);
    assert_eq!(records[0].error(), Some("panic: on a thread"));
}

#[tokio::test(start_paused = true)]
async fn a_panic_on_a_thread_is_told_to_the_hook_once() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let texts = [
            info.payload().downcast_ref::<&str>().copied(),
            info.payload().downcast_ref::<String>().map(String::as_str),
        ];
        if texts.contains(&Some("told once")) {
            TOLD.fetch_add(1, Ordering::Relaxed);
        } else {
            before(info);
        }
    }));
    let fleet = Fleet::new();
    let process = NodeSpawner::new();
    process.blocking_takes(secs(1));
    let job = Job::new("j").cron("* * * * *").unwrap();
    let job = job.run_blocking(|_| {
        if true {
            panic!("told once")
        }
    });
    let node = fleet.node("a").spawner(process).job(job).unwrap().start().await.unwrap();
    sleep(secs(10)).await;
    let told = node.history("j", 9).await.unwrap();
    assert_eq!(told[0].error(), Some("panic: told once"));
    assert_eq!(TOLD.load(Ordering::Relaxed), 1);
}
