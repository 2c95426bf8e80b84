//! Ticks that fell due while no node was up, and what each policy makes of them.

use jiff::{SignedDuration, Timestamp};
use tidelock::{Clock, Job, JobBuilder, Misfire, RunState, Scheduler, SkipReason, SystemClock};
use tidelock_tests::simulation::Simulation;

use crate::fleet::{Fleet, at, in_state, ms, secs};
use crate::ledger::{begin, each_told_once, end, ran, records, ticks, until};

/// A job that takes 10 s.
fn cron(expression: &str, misfire: Misfire) -> Job {
    shaped(expression, |job| job.misfire(misfire))
}

fn shaped(expression: &str, shape: impl Fn(JobBuilder) -> JobBuilder) -> Job {
    shape(Job::new("j").cron(expression).unwrap())
        .run(|_| async { tokio::time::sleep(secs(10)).await })
}

const HOURLY: &str = "0 * * * *";

#[tokio::test(start_paused = true)]
async fn once_runs_the_newest_missed_tick_and_records_the_older_ones() {
    let fleet = Fleet::new();
    let job = || cron(HOURLY, Misfire::Once);
    let nodes = begin(&fleet, 1, job).await;
    until(&fleet, "2026-01-01T12:10:00Z").await;
    end(nodes).await;
    until(&fleet, "2026-01-01T17:59:00Z").await;
    let nodes = begin(&fleet, 2, job).await;
    until(&fleet, "2026-01-01T18:30:00Z").await;
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 3_600, 7));
    assert_eq!(ran(&told), ["12:00:00", "17:00:00", "18:00:00"]);
    let missed = in_state(&told, RunState::Missed);
    assert_eq!((missed.len(), missed[0].ticks.unwrap().count), (1, 4));
    let late = told
        .iter()
        .find(|record| record.occurrence.is_some_and(|it| it.at() == at("2026-01-01T17:00:00Z")));
    assert!(late.unwrap().started < at("2026-01-01T17:59:01Z"));
}

#[tokio::test(start_paused = true)]
async fn a_tick_missed_by_more_than_an_hour_is_skipped_and_recorded_by_one_node() {
    let fleet = Fleet::starting("2026-01-01T01:59:59.5Z");
    let job = || cron("0 2 * * *", Misfire::Once);
    let nodes = begin(&fleet, 1, job).await;
    until(&fleet, "2026-01-01T02:10:00Z").await;
    end(nodes).await;
    until(&fleet, "2026-01-03T03:00:01Z").await;
    let nodes = begin(&fleet, 2, job).await;
    until(&fleet, "2026-01-04T02:10:00Z").await;
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T02:00:00Z", 86_400, 4));
    let states: Vec<_> = told.iter().rev().map(|record| record.state).collect();
    let skipped = RunState::Skipped(SkipReason::Misfire);
    let (ran, missed) = (RunState::Succeeded, RunState::Missed);
    assert_eq!(states.len(), 4, "{told:#?}");
    assert_eq!((states[0], states[3]), (ran, ran));
    assert!(states.contains(&skipped) && states.contains(&missed));
}

#[tokio::test(start_paused = true)]
async fn skip_runs_nothing_that_was_missed_and_tells_of_it_once() {
    let fleet = Fleet::new();
    let job = || cron(HOURLY, Misfire::Skip);
    let nodes = begin(&fleet, 1, job).await;
    until(&fleet, "2026-01-01T12:10:00Z").await;
    end(nodes).await;
    until(&fleet, "2026-01-01T15:00:02Z").await;
    let nodes = begin(&fleet, 2, job).await;
    until(&fleet, "2026-01-01T16:30:00Z").await;
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 3_600, 5));
    assert_eq!(ran(&told), ["12:00:00", "16:00:00"]);
}

#[tokio::test(start_paused = true)]
async fn all_runs_the_newest_few_oldest_first_one_at_a_time() {
    let fleet = Fleet::new();
    let job = || cron(HOURLY, Misfire::All { max: 3 });
    let nodes = begin(&fleet, 1, job).await;
    until(&fleet, "2026-01-01T12:10:00Z").await;
    end(nodes).await;
    until(&fleet, "2026-01-02T00:10:00Z").await;
    let nodes = begin(&fleet, 2, job).await;
    until(&fleet, "2026-01-02T01:10:00Z").await;
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 3_600, 14));
    assert_eq!(ran(&told), ["12:00:00", "22:00:00", "23:00:00", "00:00:00", "01:00:00"]);
    let runs: Vec<_> = told.iter().rev().filter(|record| record.ticks.is_none()).collect();
    for pair in runs.windows(2) {
        assert!(pair[0].occurrence < pair[1].occurrence, "{told:#?}");
        assert!(pair[0].ended.unwrap() <= pair[1].started, "{told:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_backlog_waits_for_the_lock_rather_than_being_consumed_by_its_own_runs() {
    let fleet = Fleet::new();
    // 10 s of work each 12 s: the backlog melts slowly, and new ticks fall due behind it.
    let job = || cron("*/12 * * * * *", Misfire::All { max: 10 });
    let nodes = begin(&fleet, 1, job).await;
    until(&fleet, "2026-01-01T12:00:11Z").await;
    end(nodes).await;
    until(&fleet, "2026-01-01T12:02:01Z").await;
    let nodes = begin(&fleet, 2, job).await;
    until(&fleet, "2026-01-01T12:15:11Z").await;
    let told = records(&nodes).await;
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 12, 76));
    // All that were missed. When none of them is left, a tick that falls due during a run is one
    // like any other, and skipped.
    let ran = ran(&told);
    assert_eq!((ran[0].as_str(), ran[10].as_str()), ("12:00:00", "12:02:00"));
}

#[tokio::test(start_paused = true)]
async fn an_instant_that_was_missed_runs_once_within_the_hour_however_often_nodes_restart() {
    let fleet = Fleet::new();
    let job = || Job::new("j").once(at("2026-01-01T12:30:00Z")).run(|_| async {});
    // Nobody was up when it was due, and the key has no mark.
    until(&fleet, "2026-01-01T13:29:00Z").await;
    for life in 1..4 {
        let nodes = begin(&fleet, life, job).await;
        tokio::time::sleep(secs(100)).await;
        let told = records(&nodes).await;
        assert_eq!((told.len(), told[0].state), (1, RunState::Succeeded));
        end(nodes).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_instant_missed_by_more_than_an_hour_is_skipped_once() {
    let fleet = Fleet::new();
    let job = || Job::new("j").once(at("2026-01-01T12:30:00Z")).run(|_| async {});
    until(&fleet, "2026-01-01T13:30:01Z").await;
    for life in 1..4 {
        let nodes = begin(&fleet, life, job).await;
        tokio::time::sleep(secs(100)).await;
        let told = records(&nodes).await;
        assert_eq!(told.len(), 1, "{told:#?}");
        assert_eq!(told[0].state, RunState::Skipped(SkipReason::Misfire));
        end(nodes).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_edited_schedule_looks_only_forward() {
    let fleet = Fleet::starting("2026-01-01T01:59:59.5Z");
    let nodes = begin(&fleet, 1, || cron("0 2 * * *", Misfire::Once)).await;
    until(&fleet, "2026-01-01T11:59:00Z").await;
    end(nodes).await;
    until(&fleet, "2026-01-01T12:00:00Z").await;
    // 11:30 is within the hour, and newer than the mark.
    let nodes = begin(&fleet, 2, || cron("30 11 * * *", Misfire::Once)).await;
    until(&fleet, "2026-01-02T12:00:00Z").await;
    let told = records(&nodes).await;
    let expected = [at("2026-01-01T02:00:00Z"), at("2026-01-02T11:30:00Z")];
    each_told_once(&told, &expected);
    assert_eq!(in_state(&told, RunState::Succeeded).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn start_within_says_how_late_is_too_late() {
    for (limit, runs) in [(secs(600), true), (secs(599), false)] {
        let fleet = Fleet::new();
        let job = || shaped(HOURLY, |job| job.start_within(limit));
        let nodes = begin(&fleet, 1, job).await;
        until(&fleet, "2026-01-01T12:10:00Z").await;
        end(nodes).await;
        until(&fleet, "2026-01-01T13:10:00Z").await;
        let nodes = begin(&fleet, 2, job).await;
        until(&fleet, "2026-01-01T13:30:00Z").await;
        let told = records(&nodes).await;
        each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 3_600, 2));
        assert_eq!(told[0].state == RunState::Succeeded, runs, "{told:#?}");
    }
}

/// In real time, on one thread: while others' code takes it, the node has been there all the same.
#[tokio::test]
async fn many_ticks_of_one_instant_that_wait_for_each_others_code_are_not_missed() {
    let soon = Timestamp::from_millisecond(SystemClock.now().as_millisecond() + 300).unwrap();
    let mut node = Scheduler::builder(tidelock_memory::MemoryBackend::new());
    let ids = || (0..100).map(|number| format!("job-{number}"));
    for id in ids() {
        let job = Job::new(id).once(soon).misfire(Misfire::Skip);
        node = node.job(job.run(|_| async { std::thread::sleep(ms(20)) })).unwrap();
    }
    let node = node.start().await.unwrap();
    tokio::time::sleep(secs(4)).await;
    for id in ids() {
        let record = node.history(&id, 1).await.unwrap().remove(0);
        assert_eq!(record.state, RunState::Succeeded, "{id}");
    }
}

/// The backend tells no clock: the sleeper cannot know that its own is ahead.
#[test]
fn a_node_that_wakes_with_its_clock_ahead_skips_nothing_that_is_due_just_now() {
    let job = Job::new("j").cron("*/4 * * * * *").unwrap().misfire(Misfire::Skip);
    let fleet = Simulation::new([job.run(|_| async {})]).nodes(2).without_backend_clock();
    let fleet = fleet.skew(0, SignedDuration::from_millis(-200));
    let fleet = fleet.skew(1, SignedDuration::from_millis(900));
    // It wakes 150 ms after a tick, before the other one comes to it.
    let outcome = fleet.freeze(1, secs(50), ms(10_150)).run_for(secs(120));
    outcome.assert_every_tick_ran().assert_once_per_tick();
}
