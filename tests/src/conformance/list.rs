//! The list of cases, and the macro that makes each of them a test.

/// Makes every case of the [suite](mod@crate::conformance) a named test, for a
/// [`Factory`](crate::conformance::Factory) given as an expression.
///
/// `conformance!(factory)` makes a module `native` and a module `combined`;
/// `conformance!(combined: factory)` the second alone, for who implements the first two traits.
#[macro_export]
macro_rules! conformance {
    (combined: $factory:expr) => {
        #[cfg(test)]
        mod combined {
            fn factory() -> impl $crate::conformance::Factory {
                use super::*;
                $factory
            }
            $crate::each_conformance_case!(tests Combined);
        }
    };
    ($factory:expr) => {
        #[cfg(test)]
        mod native {
            fn factory() -> impl $crate::conformance::Factory {
                use super::*;
                $factory
            }
            $crate::each_conformance_case!(tests Native);
        }
        $crate::conformance!(combined: $factory);
    };
}

/// The list: one line a case.
#[doc(hidden)]
#[macro_export]
macro_rules! each_conformance_case {
    ($($what:tt)+) => {
        $crate::conformance_cases! { $($what)+ :
            lock_00_every_answer_carries_the_backends_clock_or_none_does,
            lock_01_same_holder_is_granted_again_with_the_same_token_and_a_fresh_ttl,
            lock_01_a_retry_sets_the_life_that_it_asks_for,
            lock_01_a_retry_that_would_skip_by_now_hears_of_its_grant,
            lock_01_same_holder_is_told_the_same_mark_as_it_was,
            lock_01_a_manual_run_is_granted_again_to_its_holder,
            lock_02_a_retry_after_its_grant_expired_hears_expired,
            lock_02_a_retry_after_its_release_hears_expired,
            lock_02_a_retry_hears_expired_while_a_manual_run_holds_the_lock,
            lock_02_a_retry_of_what_was_consumed_hears_it_again,
            lock_02_what_was_skipped_in_the_end_is_not_granted_late,
            lock_03_an_equal_occurrence_is_refused_after_release,
            lock_03_an_older_occurrence_is_refused_after_release,
            lock_03_already_taken_tells_whether_its_run_holds_the_lock,
            lock_03_a_consumed_occurrence_is_refused,
            lock_03_taken_comes_before_too_early,
            lock_04_too_far_ahead_of_the_backends_clock_is_too_early_and_changes_nothing,
            lock_04_a_skip_can_be_too_early_too,
            lock_04_what_was_too_early_is_granted_when_it_said,
            lock_04_a_tick_within_max_ahead_is_granted,
            lock_05_a_skip_moves_the_mark_and_nothing_else,
            lock_05_a_skip_moves_the_mark_past_a_held_lock,
            lock_06_another_holder_hears_held_and_nothing_changes,
            lock_06_held_with_consume_moves_the_mark_when_the_ticks_time_has_come,
            lock_06_held_with_consume_waits_for_the_ticks_time,
            lock_06_a_manual_run_hears_held_and_consumes_nothing,
            lock_06_a_manual_run_is_in_the_way_of_a_tick,
            lock_07_a_grant_moves_the_mark_sets_the_lock_and_opens_the_run,
            lock_07_the_mark_keeps_its_movers_skew,
            lock_07_a_manual_run_takes_the_lock_and_leaves_the_mark,
            lock_07_a_lock_lives_for_its_ttl_and_no_longer,
            lock_07_ticks_grow_from_the_first_millisecond_to_the_last,
            lock_08_of_racing_nodes_one_is_granted,
            lock_08_a_request_that_races_itself_is_granted_one_token,
            lock_09_tokens_grow_over_release,
            lock_09_tokens_grow_over_expiry,
            lock_09_tokens_grow_over_forced_release,
            lock_09_a_token_is_at_least_the_backends_clock,
            lock_10_a_grant_carries_the_mark_as_it_was,
            lock_10_consumed_carries_the_mark_as_it_was,
            lock_11_abandoned_runs_are_named_again_until_settled,
            lock_11_a_repeated_grant_names_them_too,
            lock_11_a_run_that_ends_late_is_named_no_more,
            lock_12_mark_and_token_outlive_the_lock,
            lock_13_a_stale_holders_renewal_leaves_the_new_holder_untouched,
            lock_13_a_renewal_sets_the_ttl_anew_and_never_adds,
            lock_13_renewals_hold_a_lock_past_its_ttl,
            lock_14_an_expired_lock_is_lost_and_stays_gone,
            lock_14_a_renewal_after_the_release_creates_no_lock,
            lock_14_a_renewal_after_a_forced_release_is_lost,
            lock_15_a_stale_holders_release_leaves_the_new_holder_untouched,
            lock_15_a_node_does_not_release_its_own_later_acquisition,
            lock_15_a_release_frees_the_lock_at_once,
            lock_16_a_release_after_expiry_closes_the_run,
            lock_16_a_release_closes_the_runs_named_to_it_and_no_later_ones,
            lock_17_a_repeated_release_is_not_held,
            lock_17_many_short_runs_leave_nothing_behind,
            lock_18_an_unknown_key_is_empty,
            lock_18_inspecting_changes_nothing,
            lock_19_a_forced_release_frees_the_lock_and_keeps_the_mark,
            lock_19_a_forced_release_clears_the_mark_when_told,
            lock_19_a_mark_is_cleared_without_a_lock,
            lock_20_keys_of_hostile_names_do_not_meet,
            lock_20_nodes_of_hostile_names_hold_locks,
            lock_21_consumed_ticks_stay_with_the_mark_a_row_for_each_reason,
            lock_21_a_row_names_the_run_in_the_way,
            lock_21_a_grant_takes_it_along_until_a_run_that_was_told_is_released,
            lock_21_ticks_passed_over_are_noted,
            lock_21_a_manual_run_leaves_it_with_the_mark,
            record_01_what_is_saved_twice_is_there_once_in_its_first_place,
            record_02_a_final_state_is_never_replaced,
            record_02_abandoned_yields_to_the_runs_own_end_alone,
            record_02_abandoned_keeps_what_the_run_had_told,
            record_02_a_run_may_end_as_a_tick_that_did_not_run,
            record_03_ticks_that_did_not_run_yield_to_more_of_them,
            record_04_the_order_is_the_stores_own,
            record_05_the_newest_runs_stay,
            record_05_the_newest_of_two_concurrent_writers_stay,
            record_06_what_is_older_than_max_age_goes,
            record_07_what_still_runs_is_never_dropped,
            record_07_the_end_of_a_run_longer_than_max_age_is_kept,
            record_08_ticks_that_did_not_run_have_a_cap_of_their_own,
            record_09_any_text_comes_back_unchanged,
            record_09_hostile_ids_come_back_unchanged,
            record_09_every_field_comes_back_as_it_was,
            record_09_every_state_comes_back,
            record_10_a_list_is_of_one_job_newest_first_and_within_its_limit,
            backend_01_begin_answers_as_acquire_does,
            backend_02_a_record_is_stored_if_and_only_if_the_run_was_granted,
            backend_02_a_retry_that_hears_expired_stores_nothing,
            backend_03_records_of_abandoned_runs_are_closed_or_named,
            backend_04_finish_stores_the_end_even_when_the_lock_was_not_held,
            backend_05_the_release_stands_when_the_record_is_not_taken,
            backend_05_grant_and_release_stand_when_the_record_store_is_away,
            backend_06_begin_and_finish_may_be_repeated,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    (tests $pass:ident : $($case:ident,)+) => {
        $(
            #[test]
            fn $case() {
                $crate::conformance::check(
                    factory(),
                    $crate::conformance::Pass::$pass,
                    $crate::conformance::cases::$case,
                );
            }
        )+
    };
    (names : $($case:ident,)+) => {
        &[$(stringify!($case)),+]
    };
}

/// The names of all cases.
pub const CASES: &[&str] = crate::each_conformance_case!(names);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::CASES;

    /// The public functions of the cases' files.
    fn written() -> Vec<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/conformance/cases");
        let mut names = Vec::new();
        for file in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            let starts = text.split("\npub async fn ").skip(1);
            names.extend(starts.map(|rest| rest.split('(').next().unwrap_or(rest).to_owned()));
        }
        names
    }

    #[test]
    fn every_case_is_in_the_list_once() {
        let mut listed = CASES.to_vec();
        let mut written = written();
        listed.sort_unstable();
        written.sort_unstable();
        assert_eq!(listed, written);
    }

    #[test]
    fn every_line_of_the_contracts_has_a_case() {
        for (contract, lines) in [("lock", 20), ("record", 10), ("backend", 6)] {
            for line in 1..=lines {
                let start = format!("{contract}_{line:02}_");
                assert!(CASES.iter().any(|case| case.starts_with(&start)), "{start}");
            }
        }
    }
}
