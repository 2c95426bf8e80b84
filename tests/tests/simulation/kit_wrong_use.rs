//! What a simulation makes no sense of is refused, in the words and at the line of whoever asked.

use std::time::Duration;

use jiff::SignedDuration;
use tidelock::Job;
use tidelock_tests::simulation::{Event, Simulation, What};

use super::kit::{failure, failure_of};

const HOUR: Duration = Duration::from_secs(3_600);

type Wrong = fn(Simulation, SignedDuration) -> Simulation;

fn hourly() -> Simulation {
    Simulation::new([job("hourly"), job("another")])
}

fn job(id: &str) -> Job {
    Job::new(id).cron("0 * * * *").unwrap().run(|_| async {})
}

#[test]
fn a_fleet_without_nodes() {
    let (text, at) = failure(|| drop(hourly().nodes(0)));
    assert_eq!(text, "a fleet has one node at least");
    assert_eq!(at, (file!().to_owned(), line!() - 2));
}

#[test]
fn a_node_that_is_not_there() {
    let second = SignedDuration::from_secs(1);
    let two = || hourly().nodes(2);
    let wrong: [(&str, Wrong); 9] = [
        ("skew", |fleet, second| fleet.skew(2, second)),
        ("drift", |fleet, _| fleet.drift(2, 20)),
        ("same_name", |fleet, _| fleet.same_name(2, 0)),
        ("same_name", |fleet, _| fleet.same_name(0, 2)),
        ("step", |fleet, second| fleet.step(2, HOUR, second)),
        ("partition", |fleet, _| fleet.partition(2, HOUR, HOUR)),
        ("freeze", |fleet, _| fleet.freeze(2, HOUR, HOUR)),
        ("kill", |fleet, _| fleet.kill(2, HOUR, HOUR)),
        ("deploy", |fleet, _| fleet.deploy(2, HOUR, HOUR)),
    ];
    for (method, wrong) in wrong {
        let (text, (file, _)) = failure(|| drop(wrong(two(), second)));
        assert_eq!(text, "there is no node 2: this fleet has 2 (0 and 1)", "{method}");
        assert_eq!(file, file!(), "{method}");
    }
    assert!(failure_of(|| drop(hourly().nodes(1).drift(1, 2))).contains("this fleet has 1 (0)"));
    assert!(failure_of(|| drop(hourly().drift(9, 2))).contains("this fleet has 3 (0 to 2)"));
}

#[test]
fn what_was_planned_for_a_node_that_is_gone() {
    let text = failure_of(|| drop(hourly().kill(2, HOUR, HOUR).nodes(2).run_for(2 * HOUR)));
    let gone = "there is no node 2 to kill: this fleet has 2 (0 and 1)";
    assert_eq!(text, gone);
    let text = failure_of(|| drop(hourly().drift(2, 20).nodes(2).run_for(2 * HOUR)));
    assert!(text.starts_with("there is no node 2"), "{text}");
    let text = failure_of(|| drop(hourly().same_name(0, 2).nodes(2).run_for(2 * HOUR)));
    assert!(text.starts_with("there is no node 2"), "{text}");
}

#[test]
fn what_was_said_of_the_fleet_before_its_size_is_kept() {
    let late = hourly().skew(0, SignedDuration::from_hours(-2)).nodes(1).run_for(HOUR * 3 / 2);
    assert!(late.runs("hourly").is_empty());
    let slow = hourly().latency(Duration::from_secs(2)).nodes(4).run_for(HOUR * 3 / 2);
    let begins = |event: &Event| matches!(event.what, What::Started(_)).then_some(event.at);
    let first = slow.trace().events.iter().find_map(begins);
    assert!(first.is_some_and(|at| at > 3_600_100_000), "{first:?}");
}

#[test]
fn a_disturbance_that_begins_when_all_is_over() {
    let text = failure_of(|| drop(hourly().kill(1, 3 * HOUR, HOUR).run_for(2 * HOUR)));
    assert_eq!(text, "the kill of node 1 at 10800s would begin after the end of run_for at 7200s");
    let text = failure_of(|| drop(hourly().outage(2 * HOUR, HOUR).run_for(2 * HOUR)));
    assert!(text.contains("the outage at 7200s would begin after the end"), "{text}");
}

#[test]
fn a_job_that_is_not_there() {
    let outcome = hourly().run_for(2 * HOUR);
    let wanted = "there is no job hurly: this simulation has another, hourly";
    assert_eq!(failure_of(|| drop(outcome.runs("hurly"))), wanted);
    assert_eq!(failure_of(|| drop(outcome.records("hurly"))), wanted);
    let (text, at) = failure(|| assert_eq!(outcome.ticks_not_run("hurly"), 0));
    assert_eq!((text.as_str(), at), (wanted, (file!().to_owned(), line!() - 1)));
}

#[test]
fn jobs_that_cannot_be_registered() {
    let (text, at) = failure(|| drop(Simulation::new([job("one"), job("one")]).run_for(HOUR)));
    assert_eq!(at, (file!().to_owned(), line!() - 1));
    let wanted = "job one is registered already: expected another id";
    assert!(text.contains(wanted) && !text.contains("Duplicate"), "{text}");
}

#[test]
fn a_runtime_around_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let text = failure_of(|| runtime.block_on(async { drop(hourly().run_for(HOUR)) }));
    assert!(text.contains("in a plain #[test]"), "{text}");
}

#[test]
fn numbers_that_make_no_sense_and_nothing_to_simulate() {
    let text = |wrong: fn() -> Simulation| failure_of(|| drop(wrong().run_for(HOUR)));
    assert_eq!(text(|| hourly().losing(1_001)), "1001 of 1,000 requests cannot be lost");
    for ppm in [i64::MIN, -1_000_000] {
        let text = failure_of(|| drop(hourly().drift(0, ppm)));
        assert_eq!(text, format!("a clock that drifts by {ppm} ppm goes backward"));
    }
    assert_eq!(text(|| Simulation::new([])), "there is no job to simulate");
    let text = failure_of(|| drop(hourly().run_for(Duration::ZERO)));
    assert_eq!(text, "a simulation of no time at all shows nothing");
}
