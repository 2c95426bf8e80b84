//! Clocks that are set back, and timers that wake too early.

use tidelock::{Clock, EventKind, Job};
use tidelock_tests::Op;
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::ledger::{each_told_once, ticks};
use crate::node::{Node, stored};

const HOUR: u64 = 3_600;
const HOUR_MS: i64 = 3_600_000;

/// The clock that is set: that of the one node, or that of all nodes and the backend.
pub(crate) async fn start(fleet: &Fleet, whole_fleet: bool, job: Job) -> Node {
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
        each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 5));
    }
}

/// BR-028: the machine's timer runs fast against its clock, and wakes too early.
#[tokio::test(start_paused = true)]
async fn a_timer_that_wakes_early_goes_to_sleep_again() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let clock = fleet.clock.drifting(-500);
    let (seen, own) = (diary.clone(), clock.clone());
    let job = Job::new("j").cron("45 8,12 * * *").unwrap().run(move |run| {
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
            each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 10, 7));
            assert_eq!(records.len(), 7);
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
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 122));
    assert_eq!(records.len(), 122);
}
