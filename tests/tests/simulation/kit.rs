//! A user's own jobs on a simulated fleet.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::time::Duration;

use jiff::SignedDuration;
use tidelock::Job;
use tidelock_tests::simulation::Simulation;
use tokio::time::sleep;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

type Place = (String, u32);

thread_local! {
    static FAILURE: RefCell<Option<(String, Place)>> = const { RefCell::new(None) };
}

/// What something fails with, and where that is said to be.
pub(crate) fn failure(fails: impl FnOnce()) -> (String, Place) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let (payload, text) = (info.payload(), |text: &&str| (*text).to_owned());
            let owned = payload.downcast_ref::<String>().cloned();
            let text = owned.or(payload.downcast_ref().map(text)).unwrap_or_default();
            let at = info.location().map(|it| (it.file().to_owned(), it.line()));
            FAILURE.set(Some((text, at.unwrap_or_default())));
            before(info);
        }));
    });
    catch_unwind(AssertUnwindSafe(fails)).expect_err("it should fail");
    FAILURE.take().expect("the hook was called")
}

pub(crate) fn failure_of(fails: impl FnOnce()) -> String {
    failure(fails).0
}

fn nightly() -> Job {
    let job = Job::new("nightly").cron("30 2 * * *").unwrap().time_zone("Europe/Berlin").unwrap();
    job.run(|_| sleep(10 * MINUTE))
}

#[test]
fn a_year_of_a_nightly_job_with_both_changes_of_the_clocks() {
    let outcome = Simulation::new([nightly()])
        .nodes(3)
        .skew(0, SignedDuration::from_millis(-700))
        .drift(1, 20)
        .kill(2, 100 * DAY, DAY)
        .run_for(365 * DAY);
    outcome.assert_once_per_tick().assert_no_overlap().assert_nothing_silent();
    outcome.assert_every_tick_ran().assert_all_succeeded();
    // No night without it, and none with two.
    assert_eq!(outcome.runs("nightly").len(), 365);
}

#[test]
fn a_bad_hour_is_told_of() {
    let often = Job::new("often").cron("* * * * *").unwrap().run(|_| sleep(MINUTE / 2));
    let outcome = Simulation::new([often, nightly()])
        .nodes(2)
        .latency(MINUTE / 600)
        .losing(50)
        .outage(10 * MINUTE, 10 * MINUTE)
        .freeze(1, 30 * MINUTE, 2 * MINUTE)
        .partition(0, 40 * MINUTE, MINUTE)
        .deploy(1, 50 * MINUTE, MINUTE)
        .step(0, 55 * MINUTE, SignedDuration::from_secs(3))
        .run_for(60 * MINUTE);
    outcome.assert_once_per_tick().assert_no_overlap().assert_nothing_silent();
    assert!((5..=12).contains(&outcome.ticks_not_run("often")), "{:?}", outcome.records("often"));
    assert!(outcome.runs("nightly").is_empty());
}

#[test]
fn two_nodes_of_one_name_over_locks_without_a_clock_and_records_apart() {
    let often = Job::new("often").cron("* * * * *").unwrap().run(|_| sleep(MINUTE / 2));
    let outcome = Simulation::new([often])
        .nodes(2)
        .same_name(1, 0)
        .skew(1, SignedDuration::from_millis(-1_800))
        .without_backend_clock()
        .records_apart()
        .records_away(0, 10 * MINUTE, 10 * MINUTE)
        .run_for(60 * MINUTE);
    outcome.assert_once_per_tick().assert_no_overlap().assert_nothing_silent();
    outcome.assert_every_tick_ran().assert_all_succeeded();
    assert!((59..=60).contains(&outcome.runs("often").len()), "{:?}", outcome.records("often"));
}

#[test]
#[should_panic(expected = "ticks did not run")]
fn a_job_that_takes_longer_than_its_period_is_found() {
    let slow = Job::new("slow").cron("* * * * *").unwrap().run(|_| sleep(2 * MINUTE));
    let _ = Simulation::new([slow]).run_for(10 * MINUTE).assert_every_tick_ran();
}
