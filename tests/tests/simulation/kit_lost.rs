//! Ticks of a user's jobs that left no run, and what is said of them.

use std::time::Duration;

use jiff::SignedDuration;
use tidelock::{Job, JobBuilder, Misfire};
use tidelock_tests::simulation::{Outcome, Simulation};
use tokio::time::sleep;

use super::kit::{failure, failure_of};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn builder(id: &str, cron: &str) -> JobBuilder {
    Job::new(id).cron(cron).unwrap()
}

fn daily() -> Job {
    builder("daily", "30 2 * * *").run(|_| sleep(MINUTE))
}

/// The ticks are found, and told of in these words.
fn assert_found(outcome: &Outcome, lost: u64, told: &[&str]) {
    let text = failure_of(|| drop(outcome.assert_every_tick_ran().clone()));
    assert!(text.contains(&format!("ticks did not run: {lost}")), "{text}");
    for words in told {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(outcome.ticks_not_run("daily"), lost);
    outcome.assert_nothing_silent().assert_all_succeeded();
}

#[test]
fn an_outage_over_a_tick_and_to_the_end_is_found() {
    let outcome = Simulation::new([daily()]).outage(HOUR, 100 * HOUR).run_for(24 * HOUR);
    // It is asked for to be skipped when the backend is back: at the very end.
    assert_found(&outcome, 1, &["daily tick 2026-01-01T02:30:00Z on n", "skipped-misfire"]);
}

#[test]
fn nodes_that_are_all_cut_off_are_found() {
    let outcome = Simulation::new([daily()])
        .nodes(2)
        .partition(0, HOUR, Duration::MAX)
        .partition(1, HOUR, 100 * HOUR)
        .run_for(72 * HOUR);
    let newest = "daily tick 2026-01-03T02:30:00Z on n";
    assert_found(&outcome, 3, &["2026-01-02T02:30:00Z, 2 in all, on n", newest, "skipped-misfire"]);
}

#[test]
fn a_fleet_that_is_dead_at_a_jobs_first_ticks_is_found() {
    let outcome = Simulation::new([daily()]).nodes(1).kill(0, HOUR, 100 * HOUR).run_for(240 * HOUR);
    // Nobody took a tick before: there is no mark that a record could tell of.
    assert_found(&outcome, 5, &["daily tick 2026-01-01T02:30:00Z: nobody took it"]);
    assert_eq!(outcome.runs("daily").len(), 5);
}

#[test]
fn a_fleet_that_stands_still_in_the_middle_of_a_run_is_found() {
    let long = builder("daily", "30 2 * * *").run(|_| sleep(20 * HOUR));
    let outcome =
        Simulation::new([long]).nodes(1).freeze(0, 3 * HOUR, 100 * HOUR).run_for(72 * HOUR);
    assert_eq!(outcome.ticks_not_run("daily"), 2);
}

#[test]
fn ticks_that_are_recorded_are_not_counted_twice() {
    let minutely = builder("daily", "* * * * *").run(|_| async {});
    let outcome = Simulation::new([minutely])
        .nodes(1)
        .kill(0, 10 * MINUTE + MINUTE / 2, 10 * MINUTE)
        .run_for(60 * MINUTE + MINUTE / 2);
    outcome.assert_nothing_silent();
    assert_eq!(outcome.ticks_not_run("daily") + outcome.runs("daily").len() as u64, 60);
    assert_eq!(outcome.ticks_not_run("daily"), 9);
    // More than are counted one by one where they are recorded.
    let minutely = builder("daily", "* * * * *").run(|_| async {});
    let outcome = Simulation::new([minutely])
        .nodes(1)
        .kill(0, HOUR + MINUTE / 2, 50 * HOUR)
        .run_for(60 * HOUR);
    assert_eq!(outcome.ticks_not_run("daily"), 50 * 60 - 1);
}

#[test]
fn a_healthy_fleet_has_run_every_tick_whenever_it_ends() {
    let jobs = || {
        let every = |id: &str, n: u64| Job::new(id).every(Duration::from_secs(n)).unwrap();
        [
            every("often", 7).run(|_| sleep(SECOND)),
            every("spread", 60).splay(50 * SECOND).run(|_| async {}),
            every("rare", 600).splay(9 * MINUTE).run(|_| sleep(MINUTE)),
            every("patient", 120).misfire(Misfire::All { max: 10 }).run(|_| sleep(119 * SECOND)),
            every("slow", 600).start_within(SECOND).run(|_| sleep(5 * MINUTE)),
            builder("never", "0 0 1 1 *").run(|_| async {}),
        ]
    };
    for end in [1, 29, 60, 61, 119, 120, 121, 600, 601, 645, 1_139, 1_200, 1_300] {
        let right = Simulation::new(jobs()).run_for(end * SECOND);
        right.assert_every_tick_ran().assert_nothing_silent().assert_no_overlap();
        let late = Simulation::new(jobs())
            .nodes(2)
            .latency(SECOND / 5)
            .skew(0, SignedDuration::from_secs(-80))
            .skew(1, SignedDuration::from_secs(-90))
            .drift(0, -200)
            .run_for(end * SECOND);
        late.assert_every_tick_ran().assert_nothing_silent();
        let ahead = Simulation::new(jobs())
            .nodes(1)
            .without_backend_clock()
            .records_apart()
            .skew(0, SignedDuration::from_secs(70))
            .run_for(end * SECOND);
        ahead.assert_every_tick_ran().assert_nothing_silent();
        let apart = Simulation::new(jobs())
            .skew(0, SignedDuration::from_millis(900))
            .skew(1, SignedDuration::from_millis(-900))
            .seed(end.into())
            .run_for(end * SECOND);
        apart.assert_every_tick_ran().assert_nothing_silent();
    }
}

#[test]
fn nothing_is_called_silent_that_a_node_may_have_taken_with_it() {
    for seed in 0..20 {
        let minutely = builder("daily", "* * * * *").run(|_| sleep(MINUTE / 3));
        let outcome = Simulation::new([minutely])
            .nodes(2)
            .seed(seed)
            .latency(SECOND)
            .losing(100)
            .records_away(0, 7 * MINUTE, 5 * MINUTE)
            .outage(20 * MINUTE, 7 * MINUTE)
            .kill(0, 10 * MINUTE + SECOND, 10 * MINUTE)
            .kill(1, 27 * MINUTE + SECOND, 8 * MINUTE)
            .kill(0, 27 * MINUTE + 2 * SECOND, 3 * MINUTE)
            .deploy(0, 40 * MINUTE, SECOND)
            .run_for(60 * MINUTE);
        outcome.assert_nothing_silent().assert_once_per_tick().assert_no_overlap();
    }
}

#[test]
fn code_that_goes_on_beside_the_next_run_is_an_overlap() {
    let stuck = || builder("stuck", "* * * * *").timeout(MINUTE / 2).force_release_on_timeout();
    let outcome = Simulation::new([stuck().run_blocking(|_| ())])
        .blocking_takes(5 * MINUTE)
        .run_for(10 * MINUTE);
    let text = failure_of(|| drop(outcome.assert_no_overlap().clone()));
    assert!(text.contains("two runs at a time"), "{text}");
    // Each code ends before the next run, at another node or the same.
    let outcome = Simulation::new([stuck().run_blocking(|_| ())])
        .blocking_takes(MINUTE * 5 / 6)
        .run_for(HOUR);
    outcome.assert_no_overlap();
}

#[test]
fn a_failure_is_told_of_in_few_lines() {
    let broken = builder("broken", "* * * * *").run(|run| async move {
        let _ = run;
        Err::<(), _>("no paper\n".repeat(500))
    });
    let slow = builder("slow", "* * * * *").run(|_| sleep(MINUTE * 3 / 2));
    let outcome = Simulation::new([broken, slow]).run_for(72 * HOUR);
    let text = failure_of(|| drop(outcome.assert_all_succeeded().clone()));
    assert!(text.contains("runs did not succeed: 43"), "{text}");
    assert!(text.contains("  broken tick 2026-01-01T00:01:00Z on n"), "{text}");
    assert!(text.contains(": failed (no paper"), "{text}");
    assert!(text.contains(" broken tick 2026-01-01T00:01:00Z run "), "{text}");
    assert!(text.lines().count() < 50 && text.len() < 8_000, "{}", text.len());
    let text = failure_of(|| drop(outcome.assert_every_tick_ran().clone()));
    assert!(text.contains("  slow tick 2026-01-01T00:02:00Z on n"), "{text}");
    assert!(text.contains(": skipped-overlap"), "{text}");
    assert!(text.lines().count() < 50 && text.len() < 8_000, "{}", text.len());
}

#[test]
fn the_line_of_the_test_is_named() {
    let outcome = Simulation::new([daily()]).outage(HOUR, 9 * HOUR).run_for(9 * HOUR);
    let line = line!() + 1;
    let at = failure(|| drop(outcome.assert_every_tick_ran().clone())).1;
    assert_eq!(at, (file!().to_owned(), line));
}
