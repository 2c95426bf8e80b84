//! What a node makes of the backend's clock, and of its own beside it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tidelock::{
    AcquireRequest, Acquisition, Answer, BackendError, Clear, Clock, ClockPolicy, Combined, Lease,
    LockBackend, LockKey, LockState, Release, Renewal, TestClock,
};
use tidelock_memory::MemoryBackend;
use tidelock_tests::{Fault, Faults, Op};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::ledger::until;

/// A clock that shows another time at each look.
#[derive(Debug)]
struct Jittering(TestClock, AtomicI64);

impl Clock for Jittering {
    fn now(&self) -> Timestamp {
        let turn = self.1.fetch_add(1, Ordering::Relaxed);
        self.0.now() + SignedDuration::from_secs(turn * 7 % 11 - 5)
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_clock_that_jitters_a_node_does_not_flood_the_backend() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    way.always(Op::Inspect, Fault::DelayReply(ms(5)));
    let clock = Jittering(fleet.clock.clone(), AtomicI64::new(0));
    let node = fleet.node_over(way.clone(), clock, "a").clock_policy(ClockPolicy::Correct);
    let node = node.job(job("j", "* * * * *", secs(1), &diary)).unwrap();
    let node = node.start().await.unwrap();
    sleep(secs(600)).await;
    let asked = way.count(Op::Inspect);
    assert!(asked < 700, "{asked}");
    assert_eq!(diary.count("end"), 10);
    assert_eq!(node.shutdown(secs(1)).await.cancelled, 0);
}

#[tokio::test(start_paused = true)]
async fn a_backends_clock_that_is_set_right_is_heard_of_before_the_next_tick() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let servers = fleet.clock.skewed(ahead(-1_800_000));
    let backend = fleet.backend.clone().with_clock(servers.clone());
    let node = fleet.node_over(backend, fleet.clock.clone(), "a");
    let node = node.job(job("j", "0 * * * *", secs(1), &diary)).unwrap();
    let _node = node.start().await.unwrap();
    until(&fleet, "2026-01-01T12:40:00Z").await;
    servers.step(ahead(1_800_000));
    let begin = Instant::now();
    until(&fleet, "2026-01-01T13:59:00Z").await;
    let late: Vec<_> = diary
        .entries()
        .iter()
        .filter(|e| e.at > begin)
        .map(|e| ((e.at - begin).as_secs(), e.what))
        .collect();
    assert_eq!(late, [(1200, "start"), (1201, "end")]);
}

/// Locks that find every tick too early by that much, whatever their clock shows.
#[derive(Debug)]
struct TooEarly(MemoryBackend, Duration);

#[async_trait]
impl LockBackend for TooEarly {
    fn has_clock(&self) -> bool {
        true
    }
    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        sleep(ms(1)).await;
        let looked = self.0.inspect(&request.key).await?;
        Ok(looked.map(|_| Acquisition::TooEarly { by: self.1 }))
    }
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        self.0.renew(lease, ttl).await
    }
    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        self.0.release(lease).await
    }
    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        self.0.inspect(key).await
    }
    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        self.0.force_release(key, clear).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_contradicts_its_own_clock_is_asked_now_and_then() {
    for by in [Duration::ZERO, secs(1), Duration::MAX] {
        let fleet = Fleet::new();
        let locks = TooEarly(fleet.backend.clone(), by);
        let way = Faults::new(Combined::new(locks, fleet.backend.clone()));
        let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
        let node = node.job(job("j", "* * * * * *", secs(1), &Diary::default())).unwrap();
        let _node = node.start().await.unwrap();
        sleep(secs(60)).await;
        let asked = way.count(Op::Begin);
        assert!((2..=1_000).contains(&asked), "{by:?}: {asked}");
    }
}
