//! BR-052: nodes that bear one name, as when it is the host's. Who holds a lock is told by the
//! acquisition, never by the node.

use std::sync::Arc;

use tidelock::{Job, JobBuilder, RunState};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, job, ms, secs};
use crate::ledger::{each_told_once, ticks};
use crate::node::{Node, lock, noting, states, stored};

/// A node of that name; its seed is its own, as that of another process would be.
async fn start(fleet: &Fleet, name: &str, seed: u64, job: Job) -> Node {
    let backend = Arc::new(fleet.backend.clone());
    Node::build(fleet, name, backend, fleet.clock.clone(), vec![job], |node| node.seed(seed)).await
}

fn each_minute() -> JobBuilder {
    Job::new("j").cron("* * * * *").unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_schedulers_of_one_name_run_each_tick_once() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || job("j", "* * * * *", ms(10), &diary);
    let nodes = [start(&fleet, "host", 1, job()).await, start(&fleet, "host", 2, job()).await];
    sleep(secs(600)).await;
    let records = stored(&fleet, "j").await;
    assert_eq!((records.len(), diary.count("start")), (10, 10));
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 10));
    let lost: u64 = nodes.iter().map(|node| node.scheduler.health().ticks_lost).sum();
    assert_eq!(lost, 10, "each tick was lost by one of them");
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_starts_again_leaves_a_living_namesakes_run_alone() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || noting(each_minute(), secs(50), &diary);
    let worker = start(&fleet, "host", 1, job()).await;
    sleep(secs(5)).await;
    let before = lock(&fleet, "j").await;
    for seed in 2..7 {
        let other = start(&fleet, "host", seed, job()).await;
        // It reads, too: what holds a lock is not closed.
        let records = other.scheduler.history("j", 10).await.unwrap();
        assert_eq!(records[0].state, RunState::Running);
        sleep(secs(5)).await;
        if seed % 2 == 0 {
            other.spawner.kill();
        } else {
            assert_eq!(other.scheduler.shutdown(secs(1)).await.cancelled, 0);
        }
        let state = lock(&fleet, "j").await;
        assert_eq!(state.held.unwrap().holder, before.held.as_ref().unwrap().holder);
        assert_eq!((state.token, state.open_runs.len()), (before.token, 1));
    }
    sleep(secs(25)).await;
    assert_eq!(states(&fleet, "j").await, [RunState::Succeeded]);
    assert_eq!(diary.count("dropped"), 0);
    drop(worker);
}

#[tokio::test(start_paused = true)]
async fn a_namesake_takes_nothing_over_from_a_dead_one() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || noting(each_minute(), secs(50), &diary);
    let dead = start(&fleet, "host", 1, job()).await;
    sleep(secs(5)).await;
    dead.spawner.kill();
    let _next = start(&fleet, "host", 2, job()).await;
    sleep(secs(20)).await;
    assert_eq!(diary.count("start"), 1, "the dead one's lock is in force for its TTL");
    sleep(secs(90)).await;
    assert_eq!(states(&fleet, "j").await, [RunState::Abandoned, RunState::Succeeded]);
}
