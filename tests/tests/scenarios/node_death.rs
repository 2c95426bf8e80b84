//! A node dies, at the worst moments there are.
//!
//! Each over a backend that begins and ends a run in one step, and over one that takes two calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidelock::{Backend, Combined, Job, Record, RunState};
use tidelock_memory::MemoryBackend;
use tidelock_tests::{Fault, Faults, Op};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, in_state, ms, secs};
use crate::node::{Node, assert_tidy, lock, noting, states, told};

const MINUTE: &str = "* * * * *";

/// One node's view of the backend, and the half that keeps the records, to be broken.
fn whole(fleet: &Fleet) -> Arc<dyn Backend> {
    Arc::new(fleet.backend.clone())
}

fn in_two(fleet: &Fleet) -> (Arc<dyn Backend>, Faults<MemoryBackend>) {
    let records = Faults::new(fleet.backend.clone());
    let combined = Combined::new(fleet.backend.clone(), records.clone());
    (Arc::new(combined), records)
}

async fn start(fleet: &Fleet, name: &str, backend: Arc<dyn Backend>, diary: &Diary) -> Node {
    let job = noting(Job::new("j").cron(MINUTE).unwrap(), secs(20), diary);
    Node::start_over(fleet, name, backend, [job]).await
}

/// Each run that was granted has one record, and each of them is final.
fn assert_closed(records: &[Record], expected: &[RunState]) {
    let runs: BTreeSet<_> = records.iter().map(|record| record.run_id).collect();
    assert_eq!(runs.len(), records.len(), "{records:#?}");
    let states: Vec<_> = records.iter().rev().map(|record| record.state).collect();
    assert_eq!(states, expected, "{records:#?}");
    assert!(records.iter().all(|record| record.ended.is_some()));
}

/// BR-051: killed in mid-run; no record says for ever that it runs, and later runs are not blocked.
#[tokio::test(start_paused = true)]
async fn a_run_whose_node_dies_is_abandoned_and_the_next_tick_runs_within_a_ttl_and_a_tick() {
    for two in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let job = || noting(Job::new("j").cron("*/10 * * * * *").unwrap(), secs(20), &diary);
        let backend = || if two { in_two(&fleet).0 } else { whole(&fleet) };
        let a = Node::start_over(&fleet, "a", backend(), [job()]).await;
        sleep(ms(500) + secs(15)).await;
        let b = Node::start_over(&fleet, "b", backend(), [job()]).await;
        let died = Instant::now();
        a.spawner.kill();
        sleep(secs(41)).await;
        let told = told(&diary, died);
        let (at, node, _) = told.iter().find(|(_, node, _)| node == "b").unwrap();
        assert!(*at <= 40.0, "{node} took over after {at} s");
        sleep(secs(20)).await;
        drop(b);
        sleep(secs(2)).await;
        let records = Node::start(&fleet, "c", []).await.scheduler;
        let records = records.history("j", 100).await.unwrap();
        let abandoned = in_state(&records, RunState::Abandoned);
        assert_eq!(abandoned.len(), 1, "{records:#?}");
        assert_eq!(abandoned[0].node.as_str(), "a");
        assert_eq!(abandoned[0].started.to_string(), "2026-01-01T12:00:00Z");
        assert!(in_state(&records, RunState::Running).is_empty());
        // What a dead run's lock kept from running has its reason.
        let reason = RunState::Skipped(tidelock::SkipReason::Overlap);
        assert!(!in_state(&records, reason).is_empty(), "{records:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_dies_between_grant_and_start_leaves_a_record_and_the_next_tick_runs() {
    for two in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let a = if two {
            // The grant is there; the record of the run never was.
            let (backend, records) = in_two(&fleet);
            records.next(Op::Save, Fault::Hang);
            start(&fleet, "a", backend, &diary).await
        } else {
            let a = start(&fleet, "a", whole(&fleet), &diary).await;
            a.faults.next(Op::Begin, Fault::HangReply);
            a
        };
        sleep(ms(600)).await;
        a.spawner.kill();
        assert!(lock(&fleet, "j").await.held.is_some());
        assert_eq!(states(&fleet, "j").await.len(), usize::from(!two));
        let backend = if two { in_two(&fleet).0 } else { whole(&fleet) };
        let b = start(&fleet, "b", backend, &diary).await;
        sleep(secs(85)).await;
        let told = told(&diary, Instant::now());
        assert!(told.iter().all(|(_, node, _)| node == "b"), "{told:?}");
        let records = b.scheduler.history("j", 100).await.unwrap();
        let mut expected = [RunState::Abandoned, RunState::Succeeded];
        if two {
            // In the store's order, in which the dead run came to be known later.
            expected.reverse();
        }
        assert_closed(&records, &expected);
        assert_tidy(&fleet, "j").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_dies_between_end_and_finish_leaves_one_final_record() {
    for moment in ["before", "released", "answer lost"] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (backend, records) = in_two(&fleet);
        let a = start(&fleet, "a", backend, &diary).await;
        sleep(secs(5)).await;
        match moment {
            "before" => a.faults.next(Op::Finish, Fault::Hang),
            "released" => records.next(Op::Save, Fault::Hang),
            _ => a.faults.next(Op::Finish, Fault::HangReply),
        }
        sleep(ms(15_600)).await;
        a.spawner.kill();
        assert_eq!(diary.count("end"), 1);
        // Read before anybody else is granted anything: while the lock is held, it counts as
        // running.
        let reader = Node::start(&fleet, "r", []).await.scheduler;
        let records = reader.history("j", 100).await.unwrap();
        match moment {
            "before" => assert_eq!(records[0].state, RunState::Running),
            "released" => assert_closed(&records, &[RunState::Abandoned]),
            _ => assert_closed(&records, &[RunState::Succeeded]),
        }
        let b = start(&fleet, "b", whole(&fleet), &diary).await;
        sleep(secs(85)).await;
        let records = b.scheduler.history("j", 100).await.unwrap();
        let first = match moment {
            "answer lost" => RunState::Succeeded,
            _ => RunState::Abandoned,
        };
        assert_closed(&records, &[first, RunState::Succeeded]);
        assert_tidy(&fleet, "j").await;
    }
}

/// The node that is granted the next tick learns of the dead run, and dies before it has told.
#[tokio::test(start_paused = true)]
async fn when_the_node_that_should_close_a_dead_run_dies_too_history_closes_both() {
    for third in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (backend, records) = in_two(&fleet);
        // Nothing of either run is ever recorded by their own nodes.
        records.always(Op::Save, Fault::Hang);
        let a = start(&fleet, "a", backend.clone(), &diary).await;
        sleep(secs(5)).await;
        a.spawner.kill();
        let b = start(&fleet, "b", backend, &diary).await;
        sleep(secs(60)).await;
        assert_eq!(diary.count("start"), 2);
        b.spawner.kill();
        assert_eq!(states(&fleet, "j").await, []);
        assert_eq!(lock(&fleet, "j").await.open_runs.len(), 2);
        sleep(secs(31)).await;
        let mut expected = vec![RunState::Abandoned; 2];
        let reader = if third {
            expected.push(RunState::Succeeded);
            let (backend, _) = in_two(&fleet);
            let c = start(&fleet, "c", backend, &diary).await;
            sleep(secs(60)).await;
            assert_tidy(&fleet, "j").await;
            c
        } else {
            Node::start(&fleet, "c", []).await
        };
        let mut records = reader.scheduler.history("j", 100).await.unwrap();
        records.sort_by_key(|record| std::cmp::Reverse(record.occurrence));
        assert_closed(&records, &expected);
        assert_eq!(reader.scheduler.history("j", 100).await.unwrap().len(), records.len());
    }
}
