//! What is stored of runs, and what is kept.

use tidelock::{Job, JobId, NodeId, Record, RecordQuery, RecordStore, RunId, RunState};
use tidelock_tests::NodeSpawner;

use crate::fleet::{Diary, Entry, Fleet, ahead, in_state, job, ms, secs};
use crate::ledger::{each_told_once, held_by, ticks, until};

/// BR-067: what a handler leaves is stored byte for byte.
#[tokio::test(start_paused = true)]
async fn notes_and_errors_come_back_byte_for_byte() {
    let text = "{\"n\":1767225600123456789,\"a\":[]} \" \\ \u{2028} \u{0} 😀 \u{202e}rtl";
    let fleet = Fleet::new();
    let noisy = Job::new("j").cron("* * * * *").unwrap().run(move |run| {
        run.note(text);
        async move { Err::<(), _>(text) }
    });
    let node = fleet.node("a").job(noisy).unwrap().start().await.unwrap();
    tokio::time::sleep(secs(1)).await;
    let record = node.history("j", 1).await.unwrap().remove(0);
    assert_eq!((record.note(), record.error()), (Some(text), Some(text)));
    assert_eq!(record.state, RunState::Failed);
}

/// BR-068: the newest stay, in the store's order, whatever the clocks of their writers say.
#[tokio::test(start_paused = true)]
async fn a_history_of_a_hundred_keeps_the_newest_hundred_of_all_nodes() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let small = fleet.backend.clone().keep(100);
    let secondly = |takes| job("j", "* * * * * *", takes, &diary);
    let slow = fleet.clock.skewed(ahead(-5_000));
    let slow = fleet.node_over(small.clone(), slow, "slow");
    let slow = slow.job(secondly(ms(10))).unwrap().start().await.unwrap();
    tokio::time::sleep(secs(105)).await;
    let query = RecordQuery::newest(JobId::new("j").unwrap(), 1_000);
    let kept = small.list(&query).await.unwrap();
    assert_eq!((kept.len(), diary.count("end")), (100, 100));
    // Then both at once, five seconds apart by their clocks.
    let exact = fleet.node("exact").job(secondly(ms(10))).unwrap();
    let exact = exact.start().await.unwrap();
    tokio::time::sleep(secs(50)).await;
    for id in 0..50 {
        // Refused while the other one's run holds the lock.
        let _ = slow.run_now("j").await;
        tokio::time::sleep(ms(20 + id % 3)).await;
    }
    let kept = small.list(&query).await.unwrap();
    // Ticks that a run of the other's was in the way of are counted apart.
    let kept = kept.iter().filter(|record| record.ticks.is_none());
    let kept: Vec<_> = kept.map(|record| record.run_id).collect();
    let started = |entry: &Entry| (entry.what == "start").then_some(entry.run_id);
    let newest = diary.entries();
    let newest: Vec<_> = newest.iter().rev().filter_map(started).take(100).collect();
    assert_eq!(kept, newest);
    drop(exact);
}

/// BR-070: a cleaner that goes by number and age leaves alone what still runs.
#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_is_never_cleaned_away() {
    let fleet = Fleet::new();
    let small = fleet.backend.clone().keep(1);
    let threads = NodeSpawner::new();
    threads.blocking_takes(secs(300));
    let long = Job::new("j").cron("0 12 * * *").unwrap().run_blocking(|_| ());
    let node = fleet.node_over(small.clone(), fleet.clock.clone(), "a");
    let node = node.spawner(threads).job(long).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:02:00Z").await;
    let long = node.history("j", 9).await.unwrap().remove(0);
    // Three quick ones, which end elsewhere.
    for n in 0..3 {
        let (id, node) = (RunId::new(n), NodeId::new("b").unwrap());
        let quick = Record::new(id, long.job.clone(), node, RunState::Succeeded, long.started);
        small.save(&quick).await.unwrap();
    }
    let query = RecordQuery::newest(long.job.clone(), 9);
    let kept: Vec<_> = small.list(&query).await.unwrap().iter().map(|r| r.run_id).collect();
    assert_eq!(kept, [RunId::new(2), long.run_id]);
    // Its end makes it the oldest of those that may go.
    until(&fleet, "2026-01-01T12:05:01Z").await;
    let kept = small.list(&query).await.unwrap();
    assert!(kept.iter().all(|record| record.state.is_final()), "{kept:#?}");
    assert_eq!(node.health().unsaved_records, 0);
}

/// BR-072: a panic takes nothing along but its own run.
#[tokio::test(start_paused = true)]
async fn three_panics_are_three_records_and_no_skipped_tick() {
    let fleet = Fleet::new();
    let bad = Job::new("j").cron("* * * * *").unwrap().run(|run| async move {
        assert!(run.attempt() == 0, "always");
    });
    let node = fleet.node("a").job(bad).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:02:30Z").await;
    let told = node.history("j", 9).await.unwrap();
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 3));
    assert_eq!(in_state(&told, RunState::Panicked).len(), 3);
    assert_eq!(told[0].error(), Some("panic: always"));
    assert_eq!(held_by(&fleet, "j").await, None);
}
