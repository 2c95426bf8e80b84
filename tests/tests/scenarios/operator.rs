//! What an operator does to a lock, by force.

use tidelock::{Clear, JobId, LockBackend, LockKey, Release, RunState};

use crate::fleet::{Diary, Fleet, in_state, job, ms, secs};
use crate::ledger::{each_told_once, ticks, until};
use crate::node::stored;

async fn force(fleet: &Fleet, clear: Clear) -> Release {
    let key = LockKey::of(&JobId::new("j").unwrap());
    fleet.backend.force_release(&key, clear).await.unwrap().value
}

#[tokio::test(start_paused = true)]
async fn without_the_mark_that_was_taken_away_no_tick_that_ran_is_told_as_missed() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let minutely = || job("j", "* * * * *", ms(10), &diary);
    let _a = fleet.node("a").job(minutely()).unwrap().start().await.unwrap();
    let _b = fleet.node("b").job(minutely()).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:04:30Z").await;
    assert_eq!(force(&fleet, Clear::LockAndMark).await, Release::NotHeld);
    until(&fleet, "2026-01-01T12:06:30Z").await;
    let records = stored(&fleet, "j").await;
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 7));
    assert_eq!(in_state(&records, RunState::Succeeded).len(), 7, "{records:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lock_is_freed_is_told_so_and_the_next_tick_is_not_in_its_way() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let minutely = job("j", "* * * * *", secs(70), &diary);
    let node = fleet.node("a").job(minutely).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:55Z").await;
    assert_eq!(force(&fleet, Clear::Lock).await, Release::Released);
    until(&fleet, "2026-01-01T12:03:00Z").await;
    let records = node.history("j", 100).await.unwrap();
    let first = records.last().unwrap();
    assert_eq!(first.state, RunState::LockLost, "{first:#?}");
    let second = &records[records.len() - 2];
    assert_eq!(second.occurrence.unwrap().to_string(), "2026-01-01T12:01:00Z", "{records:#?}");
}
