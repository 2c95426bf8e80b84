//! Runs that take longer than they may.

use tidelock::{CancelReason, Control, Job, JobBuilder, Record, RunState};

use crate::fleet::{Diary, Fleet, in_state, ms, secs};
use crate::ledger::{each_told_once, held_by, open_runs, ticks, until};

/// A minutely job that may take 5 s.
pub(crate) fn minutely() -> JobBuilder {
    Job::new("j").cron("* * * * *").unwrap().timeout(secs(5))
}

pub(crate) async fn newest(node: &Control) -> Record {
    node.history("j", 1).await.unwrap().remove(0)
}

/// BR-074: with an async sleep.
#[tokio::test(start_paused = true)]
async fn a_run_that_ends_when_told_of_its_timeout_has_timed_out_and_keeps_its_note() {
    let fleet = Fleet::new();
    let meek = minutely().run(|run| async move {
        let reason = run.cancelled().await;
        run.note(reason.to_string());
        assert_eq!(reason, CancelReason::Timeout);
        tokio::time::sleep(ms(500)).await;
    });
    let node = fleet.node("a").job(meek).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:05.4Z").await;
    assert_eq!(newest(&node).await.state, RunState::Running);
    until(&fleet, "2026-01-01T12:00:05.6Z").await;
    let record = newest(&node).await;
    assert_eq!((record.state, record.note()), (RunState::TimedOut, Some("timeout")));
    assert_eq!((held_by(&fleet, "j").await, open_runs(&fleet, "j").await), (None, 0));
}

/// BR-074: with an async sleep that does not look.
#[tokio::test(start_paused = true)]
async fn a_run_that_ignores_its_timeout_is_dropped_after_its_grace_and_the_next_tick_runs() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let deaf = {
        let diary = diary.clone();
        minutely().grace(secs(2)).run(move |run| {
            let diary = diary.clone();
            async move {
                let _dropped = diary.open(&run);
                tokio::time::sleep(secs(90)).await;
            }
        })
    };
    let node = fleet.node("a").job(deaf).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:01:30Z").await;
    let records = node.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 2));
    assert_eq!(in_state(&records, RunState::TimedOut).len(), 2);
    assert!(records.iter().all(|record| !record.still_running && !record.overlap));
    let entries = diary.entries();
    let took = entries[1].at - entries[0].at;
    assert!(took >= secs(7) && took < ms(7_010), "{took:?}");
    assert_eq!(held_by(&fleet, "j").await, None);
}
