//! Nodes whose clocks are far ahead of a backend that finds their ticks too early, and tells no clock.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, BackendError, Clear, Clock, Combined, EventKind, Job,
    Lease, LockBackend, LockKey, LockState, Misfire, Release, Renewal, Schedule,
};
use tidelock_memory::MemoryBackend;
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, ahead, at, ms, secs};
use crate::ledger::{each_told_once, ticks};
use crate::node::{Node, noting, stored};

/// The locks of a backend, without its clock.
#[derive(Debug)]
struct Clockless(MemoryBackend);

fn untimed<T>(answer: Answer<T>) -> Answer<T> {
    Answer::new(answer.value, None)
}

#[async_trait]
impl LockBackend for Clockless {
    fn has_clock(&self) -> bool {
        false
    }
    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        self.0.acquire(request).await.map(untimed)
    }
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        self.0.renew(lease, ttl).await.map(untimed)
    }
    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        self.0.release(lease).await.map(untimed)
    }
    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.0.inspect(key).await.map(untimed)
    }
    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        self.0.force_release(key, clear).await.map(untimed)
    }
}

/// A node over such locks.
async fn node(fleet: &Fleet, name: &str, ahead_ms: i64, job: Job) -> Node {
    let backend = Arc::new(Combined::new(Clockless(fleet.backend.clone()), fleet.backend.clone()));
    let clock = fleet.clock.skewed(ahead(ahead_ms));
    Node::build(fleet, name, backend, clock, vec![job], |node| node).await
}

fn skews(node: &mut Node) -> Vec<i64> {
    let skew = |kind| match kind {
        EventKind::ClockSkew(skew) => Some(skew.ahead.as_secs()),
        _ => None,
    };
    node.events().into_iter().filter_map(skew).collect()
}

#[tokio::test(start_paused = true)]
async fn nodes_ahead_by_more_than_the_period_run_each_tick_when_the_backend_takes_it() {
    for misfire in [Misfire::Once, Misfire::Skip, Misfire::All { max: 9 }] {
        for (ahead_ms, nodes) in [(90_000, 1), (90_000, 3), (7 * 60_000 + 1, 2), (40_000, 1)] {
            let (fleet, diary) = (Fleet::new(), Diary::default());
            let job = || {
                let job = Job::new("j").cron("* * * * *").unwrap().misfire(misfire);
                noting(job, secs(1), &diary)
            };
            let mut all = Vec::new();
            for number in 0..nodes {
                all.push(node(&fleet, &format!("n{number}"), ahead_ms, job()).await);
            }
            // By their clocks, which is when they were registered, this is the first one.
            let first = at("2026-01-01T12:00:00Z") + ms(ahead_ms.unsigned_abs()) - ms(500);
            let first = Schedule::cron("* * * * *").unwrap().next_after(first).unwrap();
            let end = first + secs(5 * 60 + 30);
            sleep((end - fleet.clock.now()).unsigned_abs()).await;
            let told = stored(&fleet, "j").await;
            each_told_once(&told, &ticks(&first.to_string(), 60, 6));
            assert_eq!(diary.count("start"), 6, "{misfire:?} {ahead_ms}: {told:#?}");
            for entry in diary.entries().iter().filter(|entry| entry.what == "start") {
                let started = fleet.clock.now() - entry.at.elapsed();
                let early = (entry.occurrence.unwrap().at() - started).as_millis();
                // As early as `max_ahead` allows, and no later than the pause behind it.
                assert!((800..=1_000).contains(&early), "{early} ms early");
            }
            let told = skews(&mut all[0]);
            assert_eq!(told, [ahead_ms / 1_000], "{misfire:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_of_each_second_goes_on_on_a_node_that_is_held_back_and_after_its_clock_is_set() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = noting(Job::new("j").cron("* * * * * *").unwrap(), ms(10), &diary);
    let mut one = node(&fleet, "a", 20_000, job).await;
    sleep(secs(60)).await;
    let before = diary.count("start");
    assert!((38..=42).contains(&before), "{before}");
    one.clock.step(ahead(-20_000));
    sleep(secs(60)).await;
    let after = diary.count("start") - before;
    assert!((58..=62).contains(&after), "{after}");
    assert_eq!(skews(&mut one), [20]);
    // What it is held back by is told anew.
    one.clock.step(ahead(20_000));
    sleep(secs(60)).await;
    assert_eq!(skews(&mut one), [20]);
}
