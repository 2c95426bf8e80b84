//! What goes wrong lasts for as long as was said, whatever else goes wrong meanwhile.

use std::time::Duration;

use tidelock::Job;
use tidelock_tests::simulation::{Event, Outcome, Simulation, What};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// One node, with a job that is due at the first second of each minute.
fn alone() -> Simulation {
    let job = Job::new("minutely").cron("1 * * * * *").unwrap();
    Simulation::new([job.run(|_| async {})]).nodes(1)
}

/// In which minutes something happened.
fn minutes(outcome: &Outcome, is_it: impl Fn(&What) -> bool) -> Vec<u64> {
    let found = outcome.trace().events.iter().filter(|event| is_it(&event.what));
    let mut minutes: Vec<_> = found.map(|event| event.at / 60_000_000).collect();
    minutes.dedup();
    minutes
}

/// In which minutes of an hour no run was started.
fn idle(fleet: Simulation) -> Vec<u64> {
    let outcome = fleet.run_for(HOUR);
    let busy = minutes(&outcome, |what| matches!(what, What::Started(_)));
    (0..60).filter(|minute| !busy.contains(minute)).collect()
}

fn up(outcome: &Outcome) -> Vec<u64> {
    minutes(outcome, |what| matches!(what, What::Up(_)))
}

#[test]
fn a_node_that_starts_in_an_outage_does_not_reach_the_backend() {
    let ten = (10..20).collect::<Vec<_>>();
    assert_eq!(idle(alone().outage(10 * MINUTE, 10 * MINUTE)), ten);
    let killed = alone().kill(0, 9 * MINUTE + 30 * SECOND, 2 * MINUTE);
    assert_eq!(idle(killed.outage(10 * MINUTE, 10 * MINUTE)), ten);
    let deployed = alone().deploy(0, 10 * MINUTE - SECOND, SECOND);
    assert_eq!(idle(deployed.outage(10 * MINUTE, 10 * MINUTE)), ten);
}

#[test]
fn a_node_that_starts_where_one_was_cut_off_is_cut_off_too() {
    let cut = alone().partition(0, 10 * MINUTE, 10 * MINUTE).kill(0, 12 * MINUTE, MINUTE);
    assert_eq!(idle(cut), (10..20).collect::<Vec<_>>());
    let dead = alone().kill(0, 9 * MINUTE + 30 * SECOND, 2 * MINUTE);
    let cut = dead.partition(0, 10 * MINUTE, 10 * MINUTE);
    assert_eq!(idle(cut), (10..20).collect::<Vec<_>>());
}

#[test]
fn a_process_that_stands_still_is_followed_by_one_that_does_not() {
    let frozen = || alone().freeze(0, 10 * MINUTE, 20 * MINUTE);
    let killed = || frozen().kill(0, 12 * MINUTE, MINUTE);
    assert_eq!(idle(killed()), (10..13).collect::<Vec<_>>());
    // What was over with the process does not end what is wrong with the next one.
    assert_eq!(
        idle(killed().freeze(0, 28 * MINUTE, 10 * MINUTE)),
        [10, 11, 12].into_iter().chain(28..38).collect::<Vec<_>>()
    );
    // One that was to be shut down goes on when it was said, whoever is in its place.
    let outcome = frozen().deploy(0, 12 * MINUTE, SECOND).run_for(HOUR);
    assert_eq!(minutes(&outcome, |what| matches!(what, What::Thawed(0))), [30]);
    assert_eq!(up(&outcome), [0, 12]);
}

#[test]
fn what_is_over_heals_nothing_else() {
    let minute = |n: u32| n * MINUTE;
    let ten = (10..20).collect::<Vec<_>>();
    let cut = || alone().partition(0, minute(10), minute(10));
    assert_eq!(idle(cut().outage(minute(9) + SECOND * 30, minute(5))), ten);
    assert_eq!(idle(cut().partition(0, minute(12), minute(3))), ten);
    assert_eq!(idle(alone().outage(minute(10), minute(10)).outage(minute(12), MINUTE)), ten);
    let frozen = alone().freeze(0, minute(10), minute(10));
    assert_eq!(idle(frozen.freeze(0, minute(12), minute(3))), ten);
}

#[test]
fn what_follows_at_once_is_one_whole_whichever_was_said_first() {
    let ten = (10..20).collect::<Vec<_>>();
    type Wrong = fn(Simulation, Duration, Duration) -> Simulation;
    let wrong: [Wrong; 3] = [
        |fleet, at, lasts| fleet.partition(0, at, lasts),
        |fleet, at, lasts| fleet.freeze(0, at, lasts),
        |fleet, at, lasts| fleet.outage(at, lasts),
    ];
    for wrong in wrong {
        let first = wrong(alone(), 10 * MINUTE, 5 * MINUTE);
        assert_eq!(idle(wrong(first, 15 * MINUTE, 5 * MINUTE)), ten);
        let last = wrong(alone(), 15 * MINUTE, 5 * MINUTE);
        assert_eq!(idle(wrong(last, 10 * MINUTE, 5 * MINUTE)), ten);
    }
}

#[test]
fn records_stay_away_for_as_long_as_was_said() {
    let away = |fleet: Simulation| {
        let outcome = fleet.run_for(HOUR);
        let events = &outcome.trace().events;
        // The last word of it: the store takes records again.
        let ever = |event: &&Event| matches!(event.what, What::AsEver(_));
        events.iter().rfind(ever).map(|event| event.at / 60_000_000)
    };
    let ten = || alone().records_away(0, 10 * MINUTE, 10 * MINUTE);
    assert_eq!(away(ten()), Some(20));
    assert_eq!(away(ten().records_away(0, 12 * MINUTE, MINUTE)), Some(20));
    let outcome = ten().kill(0, 12 * MINUTE, MINUTE).run_for(HOUR);
    let gone = minutes(&outcome, |what| matches!(what, What::RecordsAway(_)));
    assert_eq!(gone, [10, 13]);
}

#[test]
fn a_node_is_dead_for_as_long_as_was_said() {
    let dead = || alone().kill(0, 10 * MINUTE, 10 * MINUTE);
    assert_eq!(up(&dead().run_for(HOUR)), [0, 20]);
    assert_eq!(up(&dead().deploy(0, 12 * MINUTE, SECOND).run_for(HOUR)), [0, 20]);
    assert_eq!(up(&dead().kill(0, 12 * MINUTE, MINUTE).run_for(HOUR)), [0, 20]);
    assert_eq!(up(&dead().kill(0, 20 * MINUTE, 5 * MINUTE).run_for(HOUR)), [0, 25]);
    let shut_down = alone().deploy(0, 10 * MINUTE, SECOND).kill(0, 10 * MINUTE, 5 * MINUTE);
    assert_eq!(up(&shut_down.run_for(HOUR)), [0, 15]);
}

#[test]
fn a_node_that_is_being_shut_down_is_cut_off_with_its_successor() {
    let long = Job::new("long").cron("0 * * * *").unwrap().run(|_| sleep(50 * MINUTE));
    let outcome = Simulation::new([long])
        .nodes(1)
        .deploy(0, HOUR + 10 * MINUTE, HOUR)
        .outage(HOUR + 20 * MINUTE, 5 * MINUTE)
        .run_for(3 * HOUR);
    // It could not renew its lock.
    assert_eq!(outcome.runs("long")[0].state, tidelock::RunState::LockLost);
}

#[test]
fn runs_have_two_minutes_at_the_end_wherever_they_are() {
    let last = |deadline, takes| {
        let job = Job::new("long").cron("58 * * * *").unwrap().run(move |_| sleep(takes));
        let fleet = Simulation::new([job]).nodes(1).deploy(0, 59 * MINUTE, deadline);
        let outcome = fleet.run_for(HOUR);
        assert_eq!(outcome.runs("long").len(), 1);
        let stopped = |event: &Event| matches!(event.what, What::Stopped { .. });
        let last = outcome.trace().events.iter().rfind(|event| stopped(event)).unwrap().at;
        (outcome.runs("long")[0].state, last / 1_000_000)
    };
    use tidelock::RunState::{Cancelled, Succeeded};
    assert_eq!(last(HOUR, 3 * MINUTE), (Succeeded, 3_660));
    for deadline in [HOUR, Duration::MAX] {
        let (state, second) = last(deadline, Duration::MAX);
        assert_eq!(state, Cancelled);
        assert!((3_720..3_730).contains(&second), "{second}");
    }
    // A shorter deadline is kept.
    let (state, second) = last(10 * SECOND, 3 * MINUTE);
    assert_eq!(state, Cancelled);
    assert!((3_550..3_610).contains(&second), "{second}");
}
