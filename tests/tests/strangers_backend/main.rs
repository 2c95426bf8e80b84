//! A third party's backend passes the suite, and one with a fault fails the case named for it.

mod broken;
mod stranger;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use tidelock_tests::conformance::{Factory, Fresh, Limits, Pass, Suite, cases, check};

use broken::{BrokenLocks, Flaw, ForgetfulRecords};
use stranger::{StrangersLocks, StrangersRecords};

/// What there is to be tested.
#[derive(Clone, Copy)]
enum Stranger {
    Sound,
    Flawed(Flaw),
    Forgetful,
}

#[async_trait]
impl Factory for Stranger {
    async fn fresh(&self, limits: Limits) -> Fresh {
        let locks = StrangersLocks::default();
        let records =
            StrangersRecords { map: Mutex::default(), keep: limits.keep, max_age: limits.max_age };
        match *self {
            Self::Sound => Fresh::halves(locks, records),
            Self::Flawed(flaw) => Fresh::halves(BrokenLocks { sound: locks, flaw }, records),
            Self::Forgetful => Fresh::halves(locks, ForgetfulRecords::default()),
        }
    }

    fn shortest_ttl(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn slack(&self) -> Duration {
        Duration::from_millis(2)
    }

    fn in_paused_time(&self) -> bool {
        true
    }
}

tidelock_tests::conformance!(combined: Stranger::Sound);

/// The case passes on the sound backend and fails on that one, on what it asserts.
fn fails<C, F>(stranger: Stranger, case: C)
where
    C: Fn(Suite) -> F,
    F: Future<Output = ()> + 'static,
{
    check(Stranger::Sound, Pass::Combined, &case);
    let run = AssertUnwindSafe(|| check(stranger, Pass::Combined, &case));
    let panic = catch_unwind(run).expect_err("the case passes on a broken backend");
    let message = panic.downcast_ref::<String>().map_or("", String::as_str);
    assert!(!message.contains("took longer"), "{message}");
}

#[test]
fn without_an_owner_check_on_release_a_stale_holder_frees_anothers_lock() {
    fails(
        Stranger::Flawed(Flaw::NoOwnerCheckOnRelease),
        cases::lock_15_a_stale_holders_release_leaves_the_new_holder_untouched,
    );
}

#[test]
fn without_a_mark_a_slow_clock_runs_the_tick_again() {
    fails(
        Stranger::Flawed(Flaw::NoMark),
        cases::lock_03_an_equal_occurrence_is_refused_after_release,
    );
}

#[test]
fn a_renewal_that_creates_the_key_revives_an_expired_lock() {
    let stranger = Stranger::Flawed(Flaw::RenewCreatesTheKey);
    fails(stranger, cases::lock_14_an_expired_lock_is_lost_and_stays_gone);
    fails(stranger, cases::lock_14_a_renewal_after_the_release_creates_no_lock);
}

#[test]
fn a_token_that_restarts_after_expiry_does_not_fence() {
    fails(Stranger::Flawed(Flaw::TokenRestartsAfterExpiry), cases::lock_09_tokens_grow_over_expiry);
}

#[test]
fn an_upsert_that_forgets_the_final_state_loses_the_end_of_a_run() {
    fails(Stranger::Forgetful, cases::record_02_a_final_state_is_never_replaced);
}

#[test]
fn a_retry_without_a_fresh_ttl_leaves_its_holder_less_time_than_it_counts_on() {
    fails(
        Stranger::Flawed(Flaw::RetryWithoutAFreshTtl),
        cases::lock_01_same_holder_is_granted_again_with_the_same_token_and_a_fresh_ttl,
    );
}
