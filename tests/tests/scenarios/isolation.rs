//! Jobs that do each other no harm, however badly one of them behaves.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tidelock::{ErrorKind, EventKind, Job, JobId, Occurrences, RunState, Schedule};
use tidelock_tests::{Fault, Faults, Op};
use tokio::time::Instant;

use crate::fleet::{Diary, Fleet, at, in_state, job, ms, secs};
use crate::ledger::{each_told_once, ticks, until};

/// Each minute, until it goes wrong.
#[derive(Debug)]
struct Breaks {
    at: Timestamp,
    panics: bool,
}

impl Occurrences for Breaks {
    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        let minute = t.as_second().div_euclid(60);
        match t < self.at {
            true => Timestamp::from_second((minute + 1) * 60).ok(),
            false if self.panics => panic!("the schedule's own fault"),
            false => Timestamp::from_second((minute - 1) * 60).ok(),
        }
    }

    fn name(&self) -> String {
        "breaks".to_owned()
    }
}

/// BR-078: what is wrong with three of twenty jobs is nothing to the other seventeen.
#[tokio::test(start_paused = true)]
async fn a_broken_schedule_a_corrupt_entry_and_a_hanging_lock_leave_all_other_jobs_on_time() {
    for panics in [true, false] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let way = Faults::new(fleet.backend.clone());
        let id = |n: usize| JobId::new(format!("j{n:02}")).unwrap();
        let corrupt = Fault::Fail(ErrorKind::Malformed);
        for op in [Op::Begin, Op::Inspect, Op::List, Op::Save] {
            way.always_of(&id(1), op, corrupt);
            way.always_of(&id(2), op, Fault::Hang);
        }
        let mut node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
        let breaks = Schedule::custom(Breaks { at: at("2026-01-01T12:02:00Z"), panics });
        let broken = Job::new("j00").schedule(breaks).run(|_| async {});
        node = node.job(broken).unwrap();
        for n in 1..20 {
            node = node.job(job(id(n).as_str(), "* * * * *", secs(1), &diary)).unwrap();
        }
        let node = node.start().await.unwrap();
        let mut events = node.events();
        until(&fleet, "2026-01-01T12:10:30Z").await;
        for n in 3..20 {
            let told = node.history(id(n).as_str(), 100).await.unwrap();
            each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 11));
            for run in &told {
                assert_eq!(run.state, RunState::Succeeded);
                assert_eq!(run.started, run.occurrence.unwrap().at(), "late");
            }
        }
        // Each of the three is told of, as what it is.
        let mut kinds = BTreeMap::<_, Vec<_>>::new();
        while let Some(event) = events.try_next() {
            let job = event.job.map(|job| job.to_string()).unwrap_or_default();
            kinds.entry(job).or_default().push(event.kind);
        }
        let of = |n, what: fn(&EventKind) -> bool| {
            kinds[id(n).as_str()].iter().filter(|k| what(k)).count()
        };
        assert_eq!(of(0, |kind| matches!(kind, EventKind::ScheduleFaulted { .. })), 1);
        let malformed: fn(&EventKind) -> bool =
            |kind| matches!(kind, EventKind::BackendFailed { kind: ErrorKind::Malformed, .. });
        assert!((11..=13).contains(&of(1, malformed)), "{}", of(1, malformed));
        assert!(of(2, |kind| matches!(kind, EventKind::BackendFailed { .. })) > 11);
        assert_eq!(diary.count("end"), 17 * 11);
        // Put right, the broken one runs again.
        node.replace(job("j00", "* * * * *", secs(1), &diary)).unwrap();
        until(&fleet, "2026-01-01T12:12:30Z").await;
        assert_eq!(node.history("j00", 2).await.unwrap()[0].state, RunState::Succeeded);
    }
}

/// BR-084: two thousand jobs on one second, on three nodes, over a backend that takes its time.
#[tokio::test(start_paused = true)]
async fn a_herd_runs_each_job_once_with_64_asks_under_way_and_holds_up_no_running_job() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (mut nodes, mut ways) = (Vec::new(), Vec::new());
    for name in ["a", "b", "c"] {
        let way = Faults::new(fleet.backend.clone()).logged();
        way.always(Op::Begin, Fault::DelayReply(ms(100)));
        let mut node = fleet.node_over(way.clone(), fleet.clock.clone(), name);
        let early = Job::new("early").cron("0 12 * * *").unwrap().lock_ttl(secs(3));
        node = node.job(early.run(|_| async { tokio::time::sleep(ms(63_050)).await })).unwrap();
        for n in 0..2_000 {
            node = node.job(job(&format!("j{n}"), "1 12 * * *", secs(10), &diary)).unwrap();
        }
        nodes.push(node.start().await.unwrap());
        ways.push(way);
    }
    until(&fleet, "2026-01-01T12:02:00Z").await;
    assert_eq!((diary.count("start"), diary.count("end")), (2_000, 2_000));
    let early = nodes[0].history("early", 9).await.unwrap();
    assert_eq!((early.len(), early[0].state), (1, RunState::Succeeded));
    let (mut renewals, mut finishes) = (Vec::new(), Vec::new());
    for way in &ways {
        let mut begins = Vec::new();
        for call in way.take_log() {
            match call.op {
                Op::Begin => begins.push(call.at),
                Op::Renew if call.job.as_str() == "early" => renewals.push(call.at),
                Op::Finish if call.job.as_str() == "early" => finishes.push(call.at),
                _ => {}
            }
        }
        assert!(begins.len() > 600, "{}", begins.len());
        assert!(most_within(&begins, ms(99)) <= 64);
    }
    // On the dot, while the herd asks: it does so for three seconds from 12:01.
    assert!(renewals.windows(2).all(|two| two[1] - two[0] == secs(1)), "{renewals:?}");
    let ended = early[0].ended.unwrap();
    assert_eq!(ended, early[0].started + ms(63_150));
    assert_eq!((renewals.len(), finishes.len()), (63, 1));
}

/// The most of these instants that lie within any span so long.
fn most_within(instants: &[Instant], span: std::time::Duration) -> usize {
    let until =
        |from: &Instant| instants.iter().filter(|at| (*from..=*from + span).contains(*at)).count();
    instants.iter().map(until).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_full_node_does_not_ask_and_asks_when_a_place_frees() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    let mut node = fleet.node_over(way.clone(), fleet.clock.clone(), "a").max_running(2);
    let hourly = |n| job(&format!("j{n}"), "0 * * * *", secs(20), &diary);
    for n in 0..6 {
        node = node.job(hourly(n)).unwrap();
    }
    let node = node.start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:10Z").await;
    assert_eq!((node.health().running, way.count(Op::Begin)), (2, 2));
    until(&fleet, "2026-01-01T12:00:30Z").await;
    assert_eq!((node.health().running, way.count(Op::Begin)), (2, 4));
    // Another node has places, and takes what waits.
    let mut other = fleet.node("b");
    for n in 0..6 {
        other = other.job(hourly(n)).unwrap();
    }
    let other = other.start().await.unwrap();
    until(&fleet, "2026-01-01T12:30:00Z").await;
    assert_eq!(diary.count("end"), 6);
    for n in 0..6 {
        let told = other.history(&format!("j{n}"), 9).await.unwrap();
        assert_eq!(in_state(&told, RunState::Succeeded).len(), 1);
    }
    assert_eq!(node.shutdown(secs(1)).await.cancelled, 0);
}
