//! Jobs that nearly fill their period, jobs that are spread, and long absences that cost little.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use tidelock::{Job, Occurrences, Record, RunState, Schedule};

use crate::fleet::{Diary, Fleet, ahead, in_state, job, ms, secs};
use crate::ledger::{begin, each_told_once, end, records, ticks, until};

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_58_of_its_60_s_loses_no_tick_to_a_clock_that_is_ahead() {
    for skew in [500, 990, 3_000, -3_000] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let long = || job("j", "* * * * *", secs(58), &diary);
        let fast = fleet.clock.skewed(ahead(skew));
        let fast = fleet.node_over(fleet.backend.clone(), fast, "fast");
        let fast = fast.job(long()).unwrap().start().await.unwrap();
        let exact = fleet.node("exact").job(long()).unwrap();
        let exact = exact.start().await.unwrap();
        until(&fleet, "2026-01-01T12:59:59Z").await;
        let told = exact.history("j", 1_000).await.unwrap();
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 60));
        assert_eq!(in_state(&told, RunState::Succeeded).len(), 60, "{told:#?}");
        let left = fast.shutdown(secs(1)).await.cancelled + exact.shutdown(secs(1)).await.cancelled;
        assert_eq!(left, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_outlasts_its_period_skips_a_tick_a_run_and_says_for_which() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a");
    let node = node.job(job("j", "* * * * *", secs(90), &diary)).unwrap();
    let node = node.start().await.unwrap();
    until(&fleet, "2026-01-01T12:09:59Z").await;
    let told = node.history("j", 100).await.unwrap();
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 10));
    let runs: Vec<_> = told.iter().filter(|r| r.ticks.is_none()).map(|r| Some(r.run_id)).collect();
    let skips = told.iter().filter(|r| r.ticks.is_some());
    let in_the_way: Vec<_> = skips.map(|skip| skip.blocked_by).collect();
    assert_eq!((runs.len(), in_the_way), (5, runs));
}

/// How late, in ms, one node alone starts each of ten jobs that may be up to 40 s late.
async fn places(name: &str) -> Vec<i128> {
    let fleet = Fleet::new();
    let mut node = fleet.node(name);
    for n in 0..10 {
        let spread = Job::new(format!("j{n}")).cron("* * * * *").unwrap();
        node = node.job(spread.splay(secs(40)).run(|_| async {})).unwrap();
    }
    let node = node.start().await.unwrap();
    until(&fleet, "2026-01-01T12:10:00Z").await;
    let mut places = Vec::new();
    for n in 0..10 {
        let told = node.history(&format!("j{n}"), 1_000).await.unwrap();
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 10));
        let late = |run: &Record| run.started.duration_since(run.occurrence.unwrap().at());
        places.push(late(&told[0]).as_millis());
        let same = |run| late(run) == late(&told[0]);
        assert!(told.iter().all(same), "{told:#?}");
    }
    places
}

#[tokio::test(start_paused = true)]
async fn a_splay_is_the_same_on_every_node_and_the_tick_keeps_its_instant() {
    let places = [places("a").await, places("b").await];
    assert_eq!(places[0], places[1]);
    let [mut spread, _] = places;
    spread.sort_unstable();
    assert!(spread[0] >= 0 && spread[9] < 40_000, "{spread:?}");
    let widest = spread.windows(2).map(|two| two[1] - two[0]).max();
    assert!(widest.unwrap() < 15_000, "not spread: {spread:?}");
}

#[tokio::test(start_paused = true)]
async fn a_splayed_tick_may_start_within_its_limit_counted_from_the_splayed_instant() {
    let fleet = Fleet::new();
    let spread = || {
        let builder = Job::new("j").cron("* * * * *").unwrap().splay(secs(50));
        builder.start_within(ms(200)).run(|_| async {})
    };
    let nodes = begin(&fleet, 1, spread).await;
    until(&fleet, "2026-01-01T12:10:00Z").await;
    let told = records(&nodes).await;
    assert_eq!(in_state(&told, RunState::Succeeded).len(), 10, "{told:#?}");
    end(nodes).await;
}

/// A tick each second, counting how often it is asked.
#[derive(Clone, Debug, Default)]
struct Counted(Arc<AtomicUsize>);

impl Occurrences for Counted {
    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(t.as_millisecond().div_euclid(1_000) + 1).ok()
    }

    fn name(&self) -> String {
        "every second, counted".to_owned()
    }
}

/// BR-077: at most one is caught up with, then all is as usual.
#[tokio::test(start_paused = true)]
async fn thirty_days_of_missed_seconds_cost_no_more_than_an_hour_of_them() {
    let mut asked = Vec::new();
    for absence in [3_600, 30 * 86_400] {
        let (fleet, schedule) = (Fleet::new(), Counted::default());
        let secondly = || {
            let schedule = Schedule::custom(schedule.clone());
            Job::new("j").schedule(schedule).run(|_| async {})
        };
        let nodes = begin(&fleet, 1, secondly).await;
        tokio::time::sleep(secs(3)).await;
        end(nodes).await;
        tokio::time::sleep(secs(absence)).await;
        let before = schedule.0.load(Ordering::Relaxed);
        let nodes = begin(&fleet, 2, secondly).await;
        tokio::time::sleep(ms(2_000)).await;
        asked.push(schedule.0.load(Ordering::Relaxed) - before);
        let told = records(&nodes).await;
        let missed = in_state(&told, RunState::Missed);
        assert_eq!((missed.len(), missed[0].ticks.unwrap().at_least), (1, true));
        // One caught up with, and those of the last two seconds.
        let ran = told.iter().filter(|run| run.node.as_str().ends_with('2') && run.ticks.is_none());
        assert_eq!(ran.count(), 3, "{told:#?}");
        end(nodes).await;
    }
    assert!(asked[1] < asked[0] + 200 && asked[1] < 2_500, "{asked:?}");
}
