//! Clocks that are set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use tidelock::{Clock, EventKind, Job, Misfire, Occurrences, RunState, Schedule, SkipReason};
use tidelock_tests::Op;
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::node::{Node, assert_accounted, states, stored};

const HOUR: u64 = 3_600;
const HOUR_MS: i64 = 3_600_000;

/// The clock that is set: that of the one node, or that of all nodes and the backend.
async fn start(fleet: &Fleet, whole_fleet: bool, job: Job) -> Node {
    if whole_fleet {
        Node::start_with(fleet, "a", fleet.clock.clone(), [job]).await
    } else {
        Node::start(fleet, "a", [job]).await
    }
}

/// BR-028: the clock is set back to before a tick that has just run.
#[tokio::test(start_paused = true)]
async fn a_clock_set_back_just_after_a_tick_does_not_bring_it_again() {
    for whole_fleet in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let node = start(&fleet, whole_fleet, job("j", "* * * * *", ms(1), &diary)).await;
        for _ in 0..5 {
            sleep(ms(505)).await;
            node.clock.step(ahead(-1_500));
            sleep(ms(60_995)).await;
        }
        let records = stored(&fleet, "j").await;
        assert_eq!(records.len(), diary.count("start"));
        let (first, last) = ("2026-01-01T12:00:00Z", "2026-01-01T12:04:00Z");
        assert_accounted(&records, first, last, secs(60));
    }
}

/// BR-028: the machine's timer runs fast against its clock, and wakes too early.
#[tokio::test(start_paused = true)]
async fn a_timer_that_wakes_early_goes_to_sleep_again() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let clock = fleet.clock.drifting(-500);
    let (seen, own) = (diary.clone(), clock.clone());
    let job = Job::new("j")
        .cron("45 8,12 * * *")
        .unwrap()
        .run(move |run| {
            let early = own.now() < run.occurrence().unwrap().at();
            seen.write(&run, if early { "early" } else { "on time" });
            async {}
        });
    let node = Node::start_with(&fleet, "a", clock, [job]).await;
    sleep(secs(48 * HOUR)).await;
    assert_eq!((diary.count("early"), diary.count("on time")), (0, 4));
    assert_eq!(node.faults.count(Op::Begin), 4);
}

/// BR-031: it is silent until the time is there again, and says so.
#[tokio::test(start_paused = true)]
async fn a_clock_set_back_repeats_no_tick_and_goes_on_when_it_comes_to_the_next() {
    for whole_fleet in [false, true] {
        for back in [120, HOUR] {
            let (fleet, diary) = (Fleet::new(), Diary::default());
            let job = job("j", "*/10 * * * * *", ms(1), &diary);
            let mut node = start(&fleet, whole_fleet, job).await;
            sleep(secs(1)).await;
            let back_ms = i64::try_from(back * 1_000).unwrap();
            node.clock.step(ahead(-back_ms));
            sleep(secs(back)).await;
            assert_eq!(diary.count("start"), 1);
            sleep(secs(60)).await;
            let records = stored(&fleet, "j").await;
            let (first, last) = ("2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z");
            assert_eq!(assert_accounted(&records, first, last, secs(10)), 7);
            let steps = node.events().into_iter().filter_map(|kind| match kind {
                EventKind::ClockStepped { by } => Some(by.as_millis()),
                _ => None,
            });
            assert_eq!(steps.collect::<Vec<_>>(), [i128::from(-back_ms)]);
        }
    }
}

/// BR-031: the same on one node of several, which go on meanwhile.
#[tokio::test(start_paused = true)]
async fn one_node_set_back_by_an_hour_costs_the_fleet_no_tick() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || job("j", "* * * * *", ms(1), &diary);
    let a = Node::start(&fleet, "a", [job()]).await;
    let _b = Node::start(&fleet, "b", [job()]).await;
    sleep(secs(90)).await;
    a.clock.step(ahead(-HOUR_MS));
    sleep(secs(2 * HOUR)).await;
    let records = stored(&fleet, "j").await;
    let (first, last) = ("2026-01-01T12:00:00Z", "2026-01-01T14:01:00Z");
    assert_eq!(assert_accounted(&records, first, last, secs(60)), 122);
}

/// BR-030: 720 ticks are jumped over, and one or none of them runs.
#[tokio::test(start_paused = true)]
async fn a_clock_set_an_hour_forward_brings_one_run_or_none_and_no_storm() {
    for (misfire, runs) in [
        (Misfire::Once, 1),
        (Misfire::Skip, 0),
        (Misfire::All { max: 3 }, 3),
    ] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let count = diary.clone();
        let job = Job::new("j")
            .cron("*/5 * * * * *")
            .unwrap()
            .misfire(misfire);
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
        let (first, last) = ("2026-01-01T12:00:00Z", "2026-01-01T13:01:05Z");
        let ran = assert_accounted(&records, first, last, secs(5));
        assert_eq!(ran, 1 + runs + 12, "{misfire:?}: {records:#?}");
        let skipped = RunState::Skipped(SkipReason::Misfire);
        let skipped = states(&fleet, "j")
            .await
            .iter()
            .filter(|s| **s == skipped)
            .count();
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
    let (first, last) = ("2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z");
    assert_eq!(assert_accounted(&records, first, last, secs(5)), 13);
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
    (
        asked,
        node.faults.count(Op::Begin) - before.1,
        diary.count("start") - 1,
    )
}

#[tokio::test(start_paused = true)]
async fn a_jump_from_1970_to_2026_costs_no_more_than_one_of_two_days() {
    const YEARS: i64 = 56 * 365 * 86_400 + 14 * 86_400;
    for (misfire, most_runs) in [
        (Misfire::Once, 2),
        (Misfire::Skip, 1),
        (Misfire::All { max: 3 }, 4),
    ] {
        let days = cost_of_jump(misfire, "1970-01-01T00:00:30Z", 2 * 86_400).await;
        let years = cost_of_jump(misfire, "1970-01-01T00:00:30Z", YEARS).await;
        assert_eq!((days.1, days.2), (years.1, years.2), "{misfire:?}");
        assert!(
            years.0 <= days.0 + 200,
            "{misfire:?}: {years:?} for years, {days:?} for days"
        );
        assert!(
            years.2 >= 1 && years.2 <= most_runs,
            "{misfire:?}: {years:?}"
        );
    }
}
