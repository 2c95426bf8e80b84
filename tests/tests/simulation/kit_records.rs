//! What is told of runs on a fleet that has died or is crowded.

use std::time::Duration;

use tidelock::{Job, JobBuilder, RunState};
use tidelock_tests::simulation::Simulation;
use tokio::time::sleep;

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
