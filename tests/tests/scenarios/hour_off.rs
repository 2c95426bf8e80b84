//! Clocks that are an hour off.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidelock::{ClockPolicy, EventKind, RunState};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::ledger::{each_told_once, ran, ticks};
use crate::node::{Node, lock, states, stored, tick};

const HOUR_MS: i64 = 3_600_000;

async fn start(
    fleet: &Fleet,
    name: &str,
    ahead_ms: i64,
    policy: ClockPolicy,
    diary: &Diary,
) -> Node {
    let clock = fleet.clock.skewed(ahead(ahead_ms));
    let jobs = vec![job("j", "* * * * *", ms(10), diary)];
    let backend = Arc::new(fleet.backend.clone());
    Node::build(fleet, name, backend, clock, jobs, |node| node.clock_policy(policy)).await
}

/// By how many milliseconds each run began after its tick, by the true time. Each tick of the
/// minutes gone by since `start`, which was half a second before the first, has run once.
fn lateness(diary: &Diary, start: Instant) -> Vec<i64> {
    let entries = diary.entries();
    let starts: Vec<_> = entries.iter().filter(|e| e.what == "start").collect();
    let ticks: BTreeSet<_> = starts.iter().map(|e| e.occurrence.unwrap()).collect();
    assert_eq!(ticks.len(), starts.len(), "a tick ran twice");
    let minutes = usize::try_from((start.elapsed() - ms(500)).as_secs() / 60).unwrap();
    let since_first = |tick: tidelock::Occurrence| {
        tick.as_millisecond() - self::tick("2026-01-01T12:00:00Z").as_millisecond()
    };
    let wanted: Vec<_> = (0..=minutes).map(|m| 60_000 * i64::try_from(m).unwrap()).collect();
    let run: Vec<_> = ticks.into_iter().map(since_first).collect();
    assert_eq!(run, wanted);
    starts
        .iter()
        .map(|e| {
            let at = i64::try_from((e.at - start).as_millis()).unwrap() - 500;
            at - since_first(e.occurrence.unwrap())
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn with_one_node_an_hour_ahead_and_one_an_hour_behind_each_tick_runs_once_and_on_time() {
    for policy in [ClockPolicy::Warn, ClockPolicy::Correct] {
        let (fleet, diary, begin) = (Fleet::new(), Diary::default(), Instant::now());
        let mut ahead = start(&fleet, "ahead", HOUR_MS, policy, &diary).await;
        let mut behind = start(&fleet, "behind", -HOUR_MS, policy, &diary).await;
        let mut right = start(&fleet, "right", 0, policy, &diary).await;
        // Long enough for the one behind to come to the first ticks by its own clock.
        sleep(secs(2 * 3_600)).await;
        for late in lateness(&diary, begin) {
            assert!((-1_000..=50).contains(&late), "{policy:?}: {late} ms late");
        }
        let mark = lock(&fleet, "j").await.mark.unwrap().point.occurrence;
        assert_eq!(mark, tick("2026-01-01T13:59:00Z"), "the mark is where the time is");
        assert!(states(&fleet, "j").await.iter().all(|s| *s == RunState::Succeeded));
        let skews = |node: &mut Node| {
            let events = node.events();
            let skew = |kind: &EventKind| match kind {
                EventKind::ClockSkew(skew) => Some(skew.ahead.as_millis()),
                _ => None,
            };
            (events.iter().filter_map(skew).collect::<Vec<_>>(), events)
        };
        let hour = i128::from(HOUR_MS);
        assert_eq!(skews(&mut ahead).0, [hour], "told once");
        let (skew, events) = skews(&mut behind);
        assert_eq!(skew, [-hour]);
        let marks = events.iter().filter(|e| matches!(e, EventKind::MarkAhead { .. }));
        assert_eq!(marks.count(), 1, "{policy:?}");
        let (skew, events) = skews(&mut right);
        assert!(skew.is_empty(), "{skew:?}");
        let wrong = events.iter().filter(|e| matches!(e, EventKind::BackendClock(_)));
        assert_eq!(wrong.count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_an_hour_ahead_that_is_alone_runs_each_tick_and_goes_on_when_its_clock_is_set_right()
{
    for policy in [ClockPolicy::Warn, ClockPolicy::Correct] {
        let (fleet, diary, begin) = (Fleet::new(), Diary::default(), Instant::now());
        let mut node = start(&fleet, "ahead", HOUR_MS, policy, &diary).await;
        sleep(secs(600)).await;
        node.clock.step(ahead(-HOUR_MS));
        sleep(secs(600)).await;
        for late in lateness(&diary, begin) {
            assert!((-1_000..=50).contains(&late), "{policy:?}: {late} ms late");
        }
        assert!(states(&fleet, "j").await.iter().all(|s| *s == RunState::Succeeded));
        let events = node.events();
        let by = |e: &EventKind| matches!(e, EventKind::ClockStepped { by } if by.is_negative());
        assert_eq!(events.iter().filter(|e| by(e)).count(), 1, "{events:?}");
        let right =
            events.iter().any(|e| matches!(e, EventKind::ClockSkew(skew) if skew.ahead.is_zero()));
        assert!(right, "{policy:?}: nobody is told that the clock is right again: {events:?}");
    }
}

/// By its own clock it is an hour late; where that is corrected it is not, and nothing is lost when
/// it is set right.
#[tokio::test(start_paused = true)]
async fn a_node_an_hour_behind_that_is_alone_loses_no_tick() {
    for (policy, runs) in [(ClockPolicy::Warn, [0, 60]), (ClockPolicy::Correct, [60, 120])] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let node = start(&fleet, "behind", -HOUR_MS, policy, &diary).await;
        for runs in runs {
            sleep(secs(3_600)).await;
            assert_eq!(diary.count("start"), runs, "{policy:?}");
        }
        node.clock.step(ahead(HOUR_MS));
        sleep(secs(600)).await;
        let records = stored(&fleet, "j").await;
        each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 60, 130));
        // The hour that it jumped over has its reason.
        let wanted = if policy == ClockPolicy::Warn { 70 } else { 130 };
        assert_eq!(ran(&records).len(), wanted, "{policy:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn when_all_nodes_see_the_same_skew_it_is_told_that_the_backends_clock_is_off() {
    for off in [HOUR_MS, -HOUR_MS] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let mut nodes = Vec::new();
        for name in ["a", "b", "c"] {
            nodes.push(start(&fleet, name, off, ClockPolicy::Warn, &diary).await);
        }
        // With the nodes an hour behind, an hour until their first tick.
        sleep(secs(3_600 + 1_800)).await;
        let entries = diary.entries();
        let ticks: BTreeSet<_> = entries.iter().map(|e| e.occurrence).collect();
        assert_eq!(ticks.len(), diary.count("start"), "a tick ran twice");
        assert!(ticks.len() >= 29, "{} runs", ticks.len());
        let told = |node: &mut Node| {
            let events = node.events();
            events.iter().filter(|e| matches!(e, EventKind::BackendClock(_))).count()
        };
        let told: Vec<_> = nodes.iter_mut().map(told).collect();
        assert!(told.iter().sum::<usize>() >= 2, "{off}: told {told:?} times");
        assert!(told.iter().all(|times| *times <= 1), "{off}: told {told:?} times");
    }
}
