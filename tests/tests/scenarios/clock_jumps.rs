//! Clocks that are set forward: what was jumped over brings no storm, and costs nothing by number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use tidelock::{Job, Misfire, Occurrences, RunState, Schedule, SkipReason};
use tidelock_tests::Op;
use tokio::time::sleep;

use crate::clock_steps::start;
use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::ledger::{each_told_once, ran, ticks};
use crate::node::{Node, states, stored};

const HOUR_MS: i64 = 3_600_000;

/// BR-030: 720 ticks are jumped over, and one or none of them runs.
#[tokio::test(start_paused = true)]
async fn a_clock_set_an_hour_forward_brings_one_run_or_none_and_no_storm() {
    for (misfire, runs) in [(Misfire::Once, 1), (Misfire::Skip, 0), (Misfire::All { max: 3 }, 3)] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let count = diary.clone();
        let job = Job::new("j").cron("*/5 * * * * *").unwrap().misfire(misfire);
        let job = job.run(move |run| {
            count.write(&run, "start");
            async {}
        });
        let node = start(&fleet, true, job).await;
        sleep(secs(2)).await;
        assert_eq!(diary.count("start"), 1);
        // It wakes for its next tick and finds that the time is 13:00:07.
        node.clock.step(ahead(HOUR_MS + 2_000));
        sleep(ms(4_500)).await;
        assert_eq!(diary.count("start"), 1 + runs, "{misfire:?}");
        // One question a tick, and one more where it waits for the run before it.
        assert!(node.faults.count(Op::Begin) <= 6, "{misfire:?}");
        sleep(secs(60)).await;
        let records = stored(&fleet, "j").await;
        each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 5, 734));
        assert_eq!(ran(&records).len(), 1 + runs + 12, "{misfire:?}: {records:#?}");
        let skipped = RunState::Skipped(SkipReason::Misfire);
        let skipped = states(&fleet, "j").await.iter().filter(|s| **s == skipped).count();
        assert_eq!(skipped, usize::from(misfire == Misfire::Skip));
    }
}

#[tokio::test(start_paused = true)]
async fn one_node_set_an_hour_forward_goes_by_the_backends_clock() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = Node::start(&fleet, "a", [job("j", "*/5 * * * * *", ms(1), &diary)]).await;
    sleep(secs(2)).await;
    node.clock.step(ahead(HOUR_MS));
    sleep(secs(60)).await;
    let records = stored(&fleet, "j").await;
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 5, 13));
    assert_eq!(records.len(), 13);
    assert!(node.faults.count(Op::Begin) <= 15);
}

/// Every minute, and how often it was asked.
#[derive(Debug)]
struct Counted(Arc<AtomicU64>);

impl Occurrences for Counted {
    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second((t.as_second().div_euclid(60) + 1) * 60).ok()
    }

    fn name(&self) -> String {
        "each minute".to_owned()
    }
}

/// What a jump costs, in questions to the schedule and in calls to the backend.
async fn cost_of_jump(misfire: Misfire, from: &str, seconds: i64) -> (u64, u64, usize) {
    let (fleet, diary) = (Fleet::starting(from), Diary::default());
    let (asked, count) = (Arc::<AtomicU64>::default(), diary.clone());
    let schedule = Schedule::custom(Counted(asked.clone()));
    let job = Job::new("j").schedule(schedule).misfire(misfire);
    let job = job.run(move |run| {
        count.write(&run, "start");
        async {}
    });
    let node = start(&fleet, true, job).await;
    sleep(secs(60)).await;
    assert_eq!(diary.count("start"), 1);
    let before = (asked.load(Ordering::Relaxed), node.faults.count(Op::Begin));
    node.clock.step(ahead(seconds * 1_000));
    // Noticed at the next waking, and one more tick on time.
    sleep(secs(60)).await;
    let asked = asked.load(Ordering::Relaxed) - before.0;
    (asked, node.faults.count(Op::Begin) - before.1, diary.count("start") - 1)
}

#[tokio::test(start_paused = true)]
async fn a_jump_from_1970_to_2026_costs_no_more_than_one_of_two_days() {
    const YEARS: i64 = 56 * 365 * 86_400 + 14 * 86_400;
    for (misfire, most_runs) in
        [(Misfire::Once, 2), (Misfire::Skip, 1), (Misfire::All { max: 3 }, 4)]
    {
        let days = cost_of_jump(misfire, "1970-01-01T00:00:30Z", 2 * 86_400).await;
        let years = cost_of_jump(misfire, "1970-01-01T00:00:30Z", YEARS).await;
        assert_eq!((days.1, days.2), (years.1, years.2), "{misfire:?}");
        assert!(years.0 <= days.0 + 200, "{misfire:?}: {years:?} for years, {days:?} for days");
        assert!(years.2 >= 1 && years.2 <= most_runs, "{misfire:?}: {years:?}");
    }
}
