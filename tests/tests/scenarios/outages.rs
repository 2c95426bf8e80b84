//! The backend is away: never two runs, and no tick without its account.

use tidelock::{RunState, SkipReason};

use crate::fleet::{Diary, Fleet, at, in_state, job, ms, secs};
use crate::ledger::{
    each_told_once, end, held_by, never_two, open_runs, ran, records, ticks, until,
};
use crate::ways::{Way, cut, fleet_of_three, heal};

#[tokio::test(start_paused = true)]
async fn away_from_before_a_tick_until_after_it_the_tick_runs_late_and_once() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
        until(&fleet, "2026-01-01T12:00:50Z").await;
        cut(&ways, silently);
        until(&fleet, "2026-01-01T12:01:20Z").await;
        heal(&ways);
        until(&fleet, "2026-01-01T12:02:30Z").await;
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 3));
        assert_eq!(in_state(&told, RunState::Succeeded).len(), 3, "{told:#?}");
        // Within a try of when the backend came back.
        assert!(told[1].started <= at("2026-01-01T12:01:21.1Z"), "{told:#?}");
        assert!(nodes[0].health().failed_calls > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn away_over_several_ticks_the_newest_runs_and_the_others_are_told_once() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
        until(&fleet, "2026-01-01T12:00:30Z").await;
        cut(&ways, silently);
        until(&fleet, "2026-01-01T12:05:30Z").await;
        heal(&ways);
        until(&fleet, "2026-01-01T12:07:30Z").await;
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 8));
        assert_eq!(ran(&told), ["12:00:00", "12:05:00", "12:06:00", "12:07:00"]);
        assert_eq!(in_state(&told, RunState::Missed).len(), 1);
        never_two(&diary);
    }
}

/// The same reason in a row is one record; a run in between begins another.
#[tokio::test(start_paused = true)]
async fn ticks_missed_before_and_after_a_run_are_two_records() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (mut nodes, ways) = fleet_of_three(&fleet, ms(100), &diary).await;
    nodes.truncate(1);
    for minute in ["12:02:30", "12:05:30"] {
        cut(&ways, false);
        until(&fleet, &format!("2026-01-01T{minute}Z")).await;
        heal(&ways);
        tokio::time::sleep(secs(5)).await;
    }
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 6));
    assert_eq!(ran(&told), ["12:02:00", "12:05:00"]);
    assert_eq!(in_state(&told, RunState::Missed).len(), 2, "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn away_during_a_run_for_less_than_a_ttl_the_run_never_knows() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, secs(55), &diary).await;
        // Renewed at 10 s; what is not renewed by 34 s is told to stop.
        until(&fleet, "2026-01-01T12:00:11Z").await;
        cut(&ways, silently);
        until(&fleet, "2026-01-01T12:00:31Z").await;
        heal(&ways);
        until(&fleet, "2026-01-01T12:00:58Z").await;
        let told = records(&nodes).await;
        assert_eq!((told.len(), told[0].state), (1, RunState::Succeeded));
        assert_eq!(open_runs(&fleet, "j").await, 0);
    }
}

/// BR-075: the holder alone is cut off; another node runs the next tick, and what the late one
/// does then is nothing to it.
#[tokio::test(start_paused = true)]
async fn cut_off_during_a_run_for_more_than_a_ttl_the_run_is_dropped_before_the_next_begins() {
    for silently in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let (nodes, ways) = fleet_of_three(&fleet, secs(300), &diary).await;
        until(&fleet, "2026-01-01T12:00:15Z").await;
        let first = diary.entries()[0].clone();
        let holder = ["a", "b", "c"].iter().position(|name| *name == first.node).unwrap();
        cut(&ways[holder..=holder], silently);
        until(&fleet, "2026-01-01T12:01:10Z").await;
        let second = held_by(&fleet, "j").await.unwrap();
        assert_ne!(second, first.run_id);
        // Renewed at 10 s with a TTL of 30 s: gone by 37 s.
        assert_eq!(diary.entries()[1].run_id, first.run_id);
        assert!(diary.entries()[1].at - first.at <= secs(37));
        assert_eq!(nodes[holder].health().running, 0);
        heal(&ways);
        until(&fleet, "2026-01-01T12:03:30Z").await;
        assert_eq!(held_by(&fleet, "j").await, Some(second));
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 4));
        let state = |run| told.iter().find(|record| record.run_id == run).unwrap().state;
        assert_eq!(state(first.run_id), RunState::LockLost);
        assert_eq!(state(second), RunState::Running);
        never_two(&diary);
    }
}

/// A tick that nobody could ask for in time is told when the backend is back, not with the next one.
#[tokio::test(start_paused = true)]
async fn away_for_longer_than_a_daily_tick_may_be_late_the_tick_is_skipped_when_it_is_back() {
    for silently in [false, true] {
        let (fleet, diary, mut nodes) = (Fleet::new(), Diary::default(), Vec::new());
        let ways = ["a", "b", "c"].map(|_| Way::new(fleet.backend.clone()));
        for (name, way) in ["a", "b", "c"].into_iter().zip(&ways) {
            let node = fleet.node_over(way.clone(), fleet.clock.clone(), name);
            let job = job("j", "0 13 * * *", ms(100), &diary);
            nodes.push(node.job(job).unwrap().start().await.unwrap());
        }
        until(&fleet, "2026-01-01T12:30:00Z").await;
        cut(&ways, silently);
        until(&fleet, "2026-01-01T15:00:00Z").await;
        heal(&ways);
        until(&fleet, "2026-01-01T15:00:10Z").await;
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T13:00:00Z", 86_400, 1));
        assert_eq!(told[0].state, RunState::Skipped(SkipReason::Misfire));
        until(&fleet, "2026-01-02T13:00:01Z").await;
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T13:00:00Z", 86_400, 2));
        assert_eq!((ran(&told).len(), told.len()), (1, 2), "{told:#?}");
        end(nodes).await;
    }
}
