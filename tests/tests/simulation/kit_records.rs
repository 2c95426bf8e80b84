//! What is told of runs on a fleet that has died or is crowded.

use std::time::Duration;

use tidelock::{Job, JobBuilder, RunState};
use tidelock_tests::simulation::Simulation;
use tokio::time::sleep;

use super::kit::failure_of;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn hourly(id: &str) -> JobBuilder {
    Job::new(id).cron("0 * * * *").unwrap()
}

#[test]
fn a_dead_nodes_run_is_closed_however_long_its_lock_lives() {
    let patient = hourly("patient").lock_ttl(10 * MINUTE).run(|_| sleep(5 * MINUTE));
    let fixed = hourly("fixed").timeout(HOUR / 2).fixed_lease().run(|_| sleep(5 * MINUTE));
    let outcome = Simulation::new([patient, fixed])
        .nodes(1)
        .kill(0, 2 * HOUR + MINUTE, MINUTE)
        .run_for(2 * HOUR + 5 * MINUTE);
    outcome.assert_nothing_silent().assert_once_per_tick().assert_no_overlap();
    for job in ["patient", "fixed"] {
        let states: Vec<_> = outcome.runs(job).iter().map(|run| run.state).collect();
        assert_eq!(states, [RunState::Succeeded, RunState::Abandoned], "{job}");
    }
}

#[test]
fn code_that_goes_on_when_all_is_over_has_its_record() {
    let stuck = hourly("stuck").lock_ttl(5 * MINUTE).run_blocking(|_| ());
    let outcome = Simulation::new([stuck]).blocking_takes(HOUR).run_for(HOUR + MINUTE);
    outcome.assert_nothing_silent().assert_once_per_tick();
}

#[test]
fn a_crowd_of_runs_that_end_at_once_is_heard() {
    let crowd = (0..1_500).map(|number| {
        let job = Job::new(format!("job-{number}")).cron("* * * * *").unwrap();
        job.run(|_| sleep(10 * SECOND))
    });
    let outcome = Simulation::new(crowd).nodes(1).run_for(150 * SECOND);
    outcome.assert_no_overlap().assert_nothing_silent().assert_once_per_tick();
    outcome.assert_every_tick_ran().assert_all_succeeded();
    let count = |is_it: fn(&tidelock_tests::simulation::What) -> bool| {
        outcome.trace().events.iter().filter(|event| is_it(&event.what)).count()
    };
    use tidelock_tests::simulation::What;
    assert_eq!(count(|what| matches!(what, What::Started(_))), 3_000);
    assert_eq!(count(|what| matches!(what, What::Finished { .. })), 3_000);
}

#[test]
fn a_tick_that_was_granted_and_never_started_did_not_run() {
    let noon = Job::new("noon").cron("0 12 * * *").unwrap().run(|_| sleep(MINUTE));
    let outcome = Simulation::new([noon])
        .nodes(1)
        .latency(SECOND / 5)
        .freeze(0, 12 * HOUR + Duration::from_millis(1), 2 * MINUTE)
        .run_for(13 * HOUR);
    assert_eq!(outcome.runs("noon")[0].state, RunState::LockLost);
    assert_eq!(outcome.ticks_not_run("noon"), 1);
    let text = failure_of(|| drop(outcome.assert_every_tick_ran().clone()));
    assert!(text.contains("ticks did not run: 1"), "{text}");
    let line = "  noon tick 2026-01-01T12:00:00Z on n0: lock-lost";
    assert!(
        text.contains(line) && text.contains("granted, and its handler was never called"),
        "{text}"
    );
    outcome.assert_nothing_silent();
}

#[test]
fn code_that_goes_on_is_an_overlap_on_a_node_that_stood_still_for_a_moment_too() {
    // Its lock is given up after half a minute, and its code goes on for five.
    let stuck = || {
        let job = Job::new("stuck").cron("1,2 0 * * *").unwrap();
        job.timeout(MINUTE / 2).force_release_on_timeout().run_blocking(|_| ())
    };
    let fleet = || Simulation::new([stuck()]).nodes(1).blocking_takes(5 * MINUTE);
    let outcome = fleet().freeze(0, 100 * SECOND, SECOND).run_for(10 * MINUTE);
    let text = failure_of(|| drop(outcome.assert_no_overlap().clone()));
    assert!(text.starts_with("two runs at a time\n"), "{text}");
}

#[test]
fn code_that_goes_on_when_its_node_does_is_an_overlap() {
    let fleet = |frozen: Option<usize>, blocking: bool| {
        let job = Job::new("stuck").cron("1,2 0 * * *").unwrap();
        let job = if blocking { job.run_blocking(|_| ()) } else { job.run(|_| sleep(5 * MINUTE)) };
        let fleet = Simulation::new([job]).nodes(2).blocking_takes(5 * MINUTE);
        let frozen = frozen.map(|node| fleet.clone().freeze(node, 70 * SECOND, 2 * MINUTE));
        frozen.unwrap_or(fleet).run_for(10 * MINUTE)
    };
    let first = fleet(None, true).runs("stuck")[0].node.to_string();
    let first = if first == "n0" { 0 } else { 1 };
    let text = failure_of(|| drop(fleet(Some(first), true).assert_no_overlap().clone()));
    assert!(text.starts_with("two runs at a time\naround second 190 since"), "{text}");
    // What can be dropped is, before it goes on.
    let stopped = fleet(Some(first), false);
    stopped.assert_no_overlap();
    let states: Vec<_> = stopped.runs("stuck").iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::LockLost, RunState::Succeeded]);
}
