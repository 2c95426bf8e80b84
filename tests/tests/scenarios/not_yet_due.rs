//! What a node takes for missed is another's to run: clocks differ, and so do starts.

use std::sync::Arc;
use std::time::Duration;

use tidelock::{ClockPolicy, Job, Misfire, RunState, Schedule};
use tidelock_tests::{Fault, Faults, NodeSpawner, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, ahead, in_state, ms, secs};
use crate::ledger::{each_told_once, ran, ticks, until};
use crate::node::stored;

/// A job of each minute that runs nothing that was missed.
fn skips() -> Job {
    let job = Job::new("j").cron("* * * * *").unwrap().misfire(Misfire::Skip);
    job.run(|_| async {})
}

/// Another node starts at `at`, with a clock ahead by so many milliseconds of the first one's,
/// which is behind by `behind`.
async fn another_starts(at: &str, ahead_ms: i64, behind_ms: i64) -> Vec<String> {
    let fleet = Fleet::new();
    let clock = fleet.clock.skewed(ahead(-behind_ms));
    let first = fleet.node_over(fleet.backend.clone(), clock, "a").job(skips()).unwrap();
    let _first = first.start().await.unwrap();
    until(&fleet, at).await;
    let clock = fleet.clock.skewed(ahead(ahead_ms));
    let second = fleet.node_over(fleet.backend.clone(), clock, "b").job(skips()).unwrap();
    let _second = second.start().await.unwrap();
    until(&fleet, "2026-01-01T12:02:30Z").await;
    let told = stored(&fleet, "j").await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 3));
    ran(&told)
}

#[tokio::test(start_paused = true)]
async fn a_node_that_starts_with_a_clock_past_a_tick_that_is_not_due_does_not_skip_it() {
    let ran = another_starts("2026-01-01T12:00:59.950Z", 90, 0).await;
    assert_eq!(ran, ["12:00:00", "12:01:00", "12:02:00"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_starts_just_after_a_tick_does_not_skip_what_a_slower_one_is_about_to_run() {
    let ran = another_starts("2026-01-01T12:01:00.100Z", 0, 200).await;
    assert_eq!(ran, ["12:00:00", "12:01:00", "12:02:00"]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_ahead_by_more_than_the_period_passes_over_nothing_that_is_not_due() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let every = Schedule::every(ms(500)).unwrap();
    let job = || {
        let diary = diary.clone();
        let job = Job::new("j").schedule(every.clone()).lock_ttl(secs(9));
        job.run(move |run| {
            let open = diary.open(&run);
            async move {
                let _open = open;
                sleep(Duration::from_millis(2_300)).await;
            }
        })
    };
    let mut nodes = Vec::new();
    for (name, by) in [("a", -10), ("b", 740)] {
        let clock = fleet.clock.skewed(ahead(by));
        let node = fleet.node_over(fleet.backend.clone(), clock, name).job(job()).unwrap();
        nodes.push(node.start().await.unwrap());
    }
    sleep(secs(60)).await;
    let told = stored(&fleet, "j").await;
    assert!(diary.count("start") > 20, "{}", diary.count("start"));
    assert_eq!(in_state(&told, RunState::Missed), Vec::<&tidelock::Record>::new());
}

#[tokio::test(start_paused = true)]
async fn a_job_added_on_a_node_with_a_clock_ahead_begins_by_the_backends_clock() {
    let fleet = Fleet::new();
    let every = Schedule::every(ms(600)).unwrap();
    let job = || Job::new("j").schedule(every.clone()).run(|_| async {});
    // Told the time by another job, before this one is added.
    let other = Job::new("other").cron("0 0 1 1 *").unwrap().run(|_| async {});
    let first = fleet.node("a").job(job()).unwrap().start().await.unwrap();
    let way = Faults::new(fleet.backend.clone());
    let clock = fleet.clock.skewed(ahead(850));
    let second = fleet.node_over(way.clone(), clock, "b").job(other).unwrap();
    let second = second.start().await.unwrap();
    sleep(ms(10)).await;
    // The look-up has no answer yet when the first tick is asked for.
    way.always(Op::Inspect, Fault::Delay(secs(2)));
    for _ in 0..20 {
        sleep(ms(1_130)).await;
        second.add(job()).unwrap();
        sleep(ms(1_130)).await;
        assert!(second.remove("j"));
    }
    let told = stored(&fleet, "j").await;
    assert_eq!(in_state(&told, RunState::Missed), Vec::<&tidelock::Record>::new());
    drop(first);
}

/// A job of a minute's half, registered at the backend's 12:01 on a node with such a clock that knows
/// the backend's.
async fn added_at_a_full_minute(ahead_ms: i64, replaced: bool) -> Vec<String> {
    let fleet = Fleet::new();
    let other = Job::new("other").cron("0 0 1 1 *").unwrap().run(|_| async {});
    let clock = fleet.clock.skewed(ahead(ahead_ms));
    let node =
        fleet.node_over(fleet.backend.clone(), clock, "a").clock_policy(ClockPolicy::Correct);
    let node = node.job(other).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:01:00.001Z").await;
    let job = |cron| Job::new("j").cron(cron).unwrap().run(|_| async {});
    if replaced {
        node.add(job("0 0 1 1 *")).unwrap();
        sleep(ms(10)).await;
        node.replace(job("30 * * * * *")).unwrap();
    } else {
        node.add(job("30 * * * * *")).unwrap();
    }
    until(&fleet, "2026-01-01T12:03:00Z").await;
    let told = stored(&fleet, "j").await;
    assert_eq!(in_state(&told, RunState::Missed), Vec::<&tidelock::Record>::new());
    ran(&told)
}

#[tokio::test(start_paused = true)]
async fn a_job_added_to_a_node_that_corrects_its_clock_begins_by_the_backends() {
    for ahead_ms in [0, -3_600_000, 3_600_000, -45_000, 45_000] {
        for replaced in [false, true] {
            let ran = added_at_a_full_minute(ahead_ms, replaced).await;
            assert_eq!(ran, ["12:01:30", "12:02:30"], "{ahead_ms} {replaced}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_schedule_on_a_node_ahead_begins_by_the_backends_clock_while_a_tick_is_asked_for() {
    let fleet = Fleet::new();
    let way = Faults::new(fleet.backend.clone());
    let clock = fleet.clock.skewed(ahead(600_000));
    let job = |cron| Job::new("j").cron(cron).unwrap().run(|_| async {});
    let node = fleet.node_over(way.clone(), clock, "a").job(job("0 * * * * *")).unwrap();
    let node = node.start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:59Z").await;
    way.always(Op::Begin, Fault::Delay(secs(1)));
    until(&fleet, "2026-01-01T12:01:00.500Z").await;
    node.replace(job("30 * * * * *")).unwrap();
    until(&fleet, "2026-01-01T12:03:00Z").await;
    let ran = ran(&stored(&fleet, "j").await);
    assert_eq!(ran, ["12:00:00", "12:01:00", "12:01:30", "12:02:30"]);
}

/// It stands still before it is first polled, and asks when it wakes, before its look has told it
/// the time.
#[tokio::test(start_paused = true)]
async fn a_node_that_wakes_for_the_first_time_with_a_clock_ahead_skips_nothing_that_is_not_due() {
    let fleet = Fleet::new();
    let slow = || {
        let way = Faults::new(Arc::new(fleet.backend.clone()));
        way.always(Op::Begin, Fault::Delay(ms(20)));
        way.always(Op::Inspect, Fault::Delay(ms(20)));
        way
    };
    let first = fleet.node_over(slow(), fleet.clock.clone(), "a").job(skips()).unwrap();
    let _first = first.start().await.unwrap();
    let spawner = NodeSpawner::new();
    let clock = fleet.clock.skewed(ahead(5_900));
    let second = fleet.node_over(slow(), clock, "b").spawner(spawner.clone()).job(skips()).unwrap();
    spawner.freeze();
    let _second = second.start().await.unwrap();
    until(&fleet, "2026-01-01T12:02:59.468Z").await;
    spawner.thaw();
    until(&fleet, "2026-01-01T12:04:30Z").await;
    let told = stored(&fleet, "j").await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 5));
    assert_eq!(ran(&told).len(), 5, "{told:#?}");
}
