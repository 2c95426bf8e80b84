//! What a node takes for missed is another's to run: clocks differ, and so do starts.

use std::time::Duration;

use tidelock::{Job, Misfire, RunState, Schedule};
use tidelock_tests::{Fault, Faults, Op};
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
