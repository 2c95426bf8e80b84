//! Schedules that went wrong for users of other schedulers, each with the values that are right.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test file for library code

use jiff::Timestamp;
use tidelock::{Field, Schedule, ScheduleErrorKind as Kind};

/// A date alone is its midnight; seconds may be left out.
fn at(text: &str) -> Timestamp {
    let text = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        16 => format!("{text}:00Z"),
        _ => format!("{text}Z"),
    };
    text.parse().unwrap()
}

fn assert_ticks(expression: &str, from: &str, expected: &[&str]) {
    let schedule = Schedule::cron(expression).unwrap_or_else(|error| panic!("{error}"));
    let mut t = at(from);
    for expected in expected {
        let tick = schedule.next_after(t).unwrap_or_else(|| panic!("{expression} ended at {t}"));
        assert_eq!(tick, at(expected), "`{expression}` after {t}");
        t = tick;
    }
}

fn refused(expression: &str) -> Kind {
    match Schedule::cron(expression) {
        Ok(schedule) => panic!("`{expression}` was read as {schedule}"),
        Err(error) => error.kind(),
    }
}

#[test]
fn an_impossible_date_is_refused_and_never_due_at_once() {
    assert_eq!(refused("* * * 31 FEB *"), Kind::NeverFires);
}

#[test]
fn dates_that_no_month_has_are_refused() {
    for expression in ["0 0 30 2 *", "0 0 31 2 *", "0 0 31 4,6,9,11 *", "* * 31 2 *"] {
        assert_eq!(refused(expression), Kind::NeverFires, "{expression}");
    }
    for expression in ["0 0 31W 2,4,6,9,11 *", "0 0 0 29 2 * 2097-2100", "0 0 0 ? 2 MON#5 2027"] {
        assert_eq!(refused(expression), Kind::NeverFires, "{expression}");
    }
}

#[test]
fn a_date_that_no_month_has_fires_on_the_weekday_beside_it() {
    for expression in ["48 14 31 jun sun", "48 14 31 JUN SUN", "48 14 31 Jun Sun"] {
        let sundays = ["2026-06-07T14:48", "2026-06-14T14:48", "2026-06-21T14:48"];
        assert_ticks(expression, "2026-01-01", &sundays);
    }
}

#[test]
fn full_names_are_refused() {
    for expression in ["0 0 * * monday", "0 0 * Sept *", "0 0 * * Sunday", "0 0 * June *"] {
        assert_eq!(refused(expression), Kind::Syntax, "{expression}");
    }
}

#[test]
fn a_day_field_is_a_restriction_by_its_spelling() {
    assert_ticks("0 0 1-31 * 4", "2024-12-01", &["2024-12-02", "2024-12-03", "2024-12-04"]);
    assert_ticks("0 0 * * 4", "2024-12-01", &["2024-12-05", "2024-12-12", "2024-12-19"]);
    let either = ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"];
    assert_ticks("0 0 13 * 5", "2026-01-01", &either);
}

#[test]
fn a_stepped_day_field_is_a_restriction() {
    let weekdays = ["2026-01-03", "2026-01-04", "2026-01-06", "2026-01-08"];
    assert_ticks("0 0 * * */2", "2026-01-01", &weekdays);
    let either = ["2026-01-03", "2026-01-05", "2026-01-07", "2026-01-09"];
    assert_ticks("0 0 */2 * 1", "2026-01-01", &either);
}

#[test]
fn a_step_from_a_number_goes_to_the_end_of_the_field() {
    let quarters = ["2026-01-01T00:05", "2026-01-01T00:20", "2026-01-01T00:35", "2026-01-01T00:50"];
    assert_ticks("5/15 * * * *", "2026-01-01", &quarters);
    let days = ["2023-11-02T15:25", "2023-11-05T15:25", "2023-11-08T15:25"];
    assert_ticks("25 15 2/3 * *", "2023-11-01", &days);
}

#[test]
fn absurd_numbers_and_lengths_are_refused() {
    for (minute, kind) in [
        ("*/0", Kind::Step),
        ("*/-2", Kind::Syntax),
        ("0-99999999/1", Kind::OutOfRange),
        ("99999999999999999999", Kind::OutOfRange),
        ("*/61", Kind::Step),
        ("*/99999999999999999999", Kind::Step),
    ] {
        assert_eq!(refused(&format!("{minute} * * * *")), kind, "{minute}");
    }
    assert_eq!(refused(&"* ".repeat(10_000)), Kind::TooLong);
    assert_eq!(refused(&"* ".repeat(500)), Kind::FieldCount);
    assert_eq!(refused(&"1".repeat(1 << 20)), Kind::TooLong);
}

#[test]
fn weekday_numbers_count_from_sunday_as_zero() {
    let mut weekdays =
        ["2024-06-12", "2024-06-13", "2024-06-14", "2024-06-17", "2024-06-18"].map(str::to_owned);
    weekdays.iter_mut().for_each(|day| day.push_str("T18:30"));
    let weekdays = weekdays.each_ref().map(String::as_str);
    assert_ticks("30 18 * * 1-5", "2024-06-11T19:00", &weekdays);
    let sundays = ["2026-01-04", "2026-01-11", "2026-01-18"];
    assert_ticks("0 0 * * 7", "2026-01-01", &sundays);
    assert_ticks("0 0 * * 0", "2026-01-01", &sundays);
}

#[test]
fn the_nth_and_the_last_weekday_of_a_month_are_found() {
    let second_sundays = ["2024-12-08", "2025-01-12", "2025-02-09"];
    assert_ticks("0 0 * * 7#2", "2024-11-19", &second_sundays);
    let fourth_saturdays = ["2024-08-24", "2024-09-28", "2024-10-26", "2024-11-23", "2024-12-28"];
    assert_ticks("0 0 * * 6#4", "2024-08-02", &fourth_saturdays);
    let fifth_mondays = ["2024-12-30T09:00", "2025-03-31T09:00", "2025-06-30T09:00"];
    assert_ticks("0 9 * * 1#5", "2024-10-22", &fifth_mondays);
    assert_ticks("0 0 * * 5L", "2024-07-11", &["2024-07-26", "2024-08-30", "2024-09-27"]);
    assert_eq!(refused("0 0 * * 1#0"), Kind::OutOfRange);
    assert_eq!(refused("0 0 * * 1#6"), Kind::OutOfRange);
}

#[test]
fn blanks_round_and_between_fields_do_not_count() {
    let years = ["2026-09-12", "2027-09-12", "2028-09-12"];
    for expression in
        ["0 0 12 9 *", "0 0 12 9 * ", "   0 0 12 9 *", "0\t0\t12 9 *", "0  0   12 9  *\n"]
    {
        assert_ticks(expression, "2026-01-01", &years);
    }
}

#[test]
fn junk_is_refused_and_its_field_named() {
    for (expression, kind, field) in [
        ("", Kind::Empty, None),
        ("  \t ", Kind::Empty, None),
        ("*", Kind::FieldCount, None),
        ("* * * *", Kind::FieldCount, None),
        ("* * * * * * * *", Kind::FieldCount, None),
        ("5x * * * *", Kind::Syntax, Some(Field::Minute)),
        ("1-2-3 * * * *", Kind::Syntax, Some(Field::Minute)),
        ("1,,2 * * * *", Kind::Syntax, Some(Field::Minute)),
        ("1, * * * *", Kind::Syntax, Some(Field::Minute)),
        (",1 * * * *", Kind::Syntax, Some(Field::Minute)),
        ("*/15x * * * *", Kind::Syntax, Some(Field::Minute)),
        ("* \0 * * *", Kind::Syntax, Some(Field::Hour)),
        ("* * ١ * *", Kind::Syntax, Some(Field::DayOfMonth)),
        ("* * * １ *", Kind::Syntax, Some(Field::Month)),
        ("* * * * 1\u{202e}", Kind::Syntax, Some(Field::DayOfWeek)),
    ] {
        let error = Schedule::cron(expression).unwrap_err();
        assert_eq!((error.kind(), error.field()), (kind, field), "{expression:?}");
    }
}

#[test]
fn the_number_of_fields_alone_decides_what_the_first_one_is() {
    let hours = ["2026-01-01T01:00", "2026-01-01T02:00", "2026-01-01T03:00"];
    assert_ticks("0 0 * * * *", "2026-01-01", &hours);
    assert_ticks("0 0 * * *", "2026-01-01", &["2026-01-02", "2026-01-03", "2026-01-04"]);
    assert_ticks("0 0 ? * ?", "2026-01-01", &["2026-01-02", "2026-01-03", "2026-01-04"]);
    for expression in ["? * * * *", "* ? * * *", "0 0 ?,1 * *", "0 0 ?/2 * *", "0 0 * ? *"] {
        assert_eq!(refused(expression), Kind::Syntax, "{expression}");
    }
}

#[test]
fn times_in_a_gap_and_in_a_repeated_hour_are_answered() {
    let zone = |rest: &str| format!("TZ=America/New_York {rest}");
    let daily = ["2025-03-09T07:00", "2025-03-10T06:00", "2025-03-11T06:00"];
    assert_ticks(&zone("0 2 * * *"), "2025-03-09T06:30", &daily);
    let half_past = ["2025-03-09T07:00", "2025-03-10T06:30", "2025-03-11T06:30"];
    assert_ticks(&zone("30 2 * * *"), "2025-03-09T06:00", &half_past);
    let mut quarters = ["00:15", "00:30", "00:45", "01:00", "01:15", "01:30"]
        .map(|time| format!("2019-10-27T{time}"));
    quarters.sort();
    let quarters = quarters.each_ref().map(String::as_str);
    assert_ticks("TZ=Europe/London */15 * * * *", "2019-10-27T00:03", &quarters);
}

#[test]
fn a_daily_job_runs_once_on_the_night_the_clocks_go_back() {
    let berlin = ["2023-10-29T00:00", "2023-10-30T01:00", "2023-10-31T01:00"];
    assert_ticks("TZ=Europe/Berlin 0 2 * * *", "2023-10-28T20:00", &berlin);
    let new_york = ["2025-11-02T05:30", "2025-11-03T06:30", "2025-11-04T06:30"];
    assert_ticks("TZ=America/New_York 30 1 * * *", "2025-11-02T04:00", &new_york);
}

#[test]
fn the_only_minute_of_the_year_may_lie_in_a_gap() {
    let ticks = ["2025-03-30T01:00", "2026-03-30T00:00"];
    assert_ticks("TZ=Europe/Lisbon 0 1 30 3 *", "2024-11-15", &ticks);
}

#[test]
fn a_gap_at_midnight_neither_stops_nor_repeats_a_day() {
    let fortnights = ["2014-10-26T14:00", "2014-11-11T14:00", "2014-11-26T14:00"];
    assert_ticks("TZ=America/Sao_Paulo 0 12 11,26 * *", "2014-10-12", &fortnights);
    let midnights = ["2014-10-18T03:00", "2014-10-19T03:00", "2014-10-20T02:00"];
    assert_ticks("TZ=America/Sao_Paulo 0 0 * * *", "2014-10-17T12:00", &midnights);
    let sundays = ["2023-09-03T04:00", "2023-09-10T03:00", "2023-09-17T03:00"];
    assert_ticks("TZ=America/Santiago 0 0 * * 0", "2023-08-27T12:00", &sundays);
}

#[test]
fn a_zone_is_kept_by_its_name_and_never_as_an_offset() {
    let dublin = ["2025-03-30T17:00", "2025-03-31T17:00"];
    assert_ticks("TZ=Europe/Dublin 0 18 * * *", "2025-03-29T18:00", &dublin);
    let shanghai = ["2025-10-28T00:00", "2025-10-29T00:00"];
    assert_ticks("CRON_TZ=Asia/Shanghai 0 8 * * *", "2025-10-27T07:00", &shanghai);
}

#[test]
fn the_next_tick_is_never_the_same_or_an_earlier_one() {
    let ticks = ["2016-02-21T02:00", "2016-02-21T02:05", "2016-02-21T02:10"];
    assert_ticks("TZ=America/Sao_Paulo */5 * * * *", "2016-02-21T01:55", &ticks);
}
