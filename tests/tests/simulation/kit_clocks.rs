//! Clocks that are far off, and what is owed all the same.

use std::time::Duration;

use jiff::SignedDuration;
use tidelock::Job;
use tidelock_tests::simulation::Simulation;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn hourly() -> Simulation {
    Simulation::new([Job::new("hourly").cron("0 * * * *").unwrap().run(|_| async {})])
}

#[test]
fn a_node_that_is_well_again_owes_what_it_can_answer() {
    let far_behind = SignedDuration::from_hours(-12);
    let fleet = || hourly().skew(0, far_behind).kill(1, 10 * MINUTE, MINUTE);
    let healthy = fleet().kill(2, 20 * MINUTE, MINUTE).run_for(12 * HOUR - MINUTE);
    healthy.assert_every_tick_ran().assert_nothing_silent();
    assert_eq!(healthy.runs("hourly").len(), 11);
    // Nobody takes the first five, and no mark tells of them; the sixth is not too late.
    let away = fleet().kill(2, 20 * MINUTE, MINUTE).outage(30 * MINUTE, 6 * HOUR);
    let away = away.run_for(12 * HOUR - MINUTE);
    assert_eq!(away.ticks_not_run("hourly"), 5);
    away.assert_nothing_silent();
    // Nobody whose clock is right is there for long enough.
    let dead = hourly().skew(0, far_behind).kill(1, 10 * MINUTE, 12 * HOUR);
    let dead = dead.kill(2, 20 * MINUTE, 12 * HOUR).run_for(12 * HOUR - MINUTE);
    assert_eq!(dead.ticks_not_run("hourly"), 0);
}

#[test]
fn a_clock_that_is_set_right_owes_what_it_can_answer() {
    let behind = || hourly().nodes(1).skew(0, SignedDuration::from_hours(-12));
    let right = behind().step(0, HOUR / 2, SignedDuration::from_hours(12));
    let right = right.run_for(12 * HOUR - MINUTE);
    right.assert_every_tick_ran();
    assert_eq!(right.runs("hourly").len(), 11);
    let away =
        behind().step(0, HOUR / 2, SignedDuration::from_hours(12)).outage(HOUR / 2, 6 * HOUR);
    assert_eq!(away.run_for(12 * HOUR - MINUTE).ticks_not_run("hourly"), 5);
    // Just now, and so nothing is owed.
    let late = behind().step(0, 12 * HOUR - MINUTE - MINUTE / 60, SignedDuration::from_hours(12));
    let late = late.run_for(12 * HOUR - MINUTE);
    assert!(late.runs("hourly").len() <= 1);
}

#[test]
fn a_clock_that_is_off_by_more_than_can_be_told_is_off_in_the_same_direction() {
    for ppm in [-999_999, i64::MAX] {
        let _ = hourly().nodes(1).drift(0, ppm).run_for(2 * HOUR);
    }
    // A clock that is far behind has no tick to run, one far ahead goes by the backend's.
    let behind = hourly().nodes(1).skew(0, SignedDuration::MIN).run_for(3 * HOUR / 2);
    assert!(behind.runs("hourly").is_empty());
    let ahead = hourly().nodes(1).skew(0, SignedDuration::MAX).run_for(3 * HOUR / 2);
    assert_eq!(ahead.runs("hourly").len(), 1);
    let set_back = hourly().nodes(1).step(0, HOUR / 2, SignedDuration::MIN).run_for(3 * HOUR / 2);
    assert!(set_back.runs("hourly").is_empty());
}

/// The only node that is well comes to the first tick when all is over.
#[test]
fn clocks_so_late_that_no_tick_has_to_be_answered_leave_none_owed() {
    let late = hourly().nodes(1).skew(0, SignedDuration::from_hours(-12)).run_for(8 * HOUR);
    assert_eq!((late.ticks_owed("hourly"), late.ticks_not_run("hourly")), (0, 0));
    let right = hourly().nodes(1).run_for(8 * HOUR);
    assert_eq!((right.ticks_owed("hourly"), right.runs("hourly").len()), (7, 7));
}
