//! Every kind of schedule: periods, single instants, one's own, and cron where the zone or the
//! calendar is unusual.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test file for library code

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{Occurrences, OnGap, OnRepeat, Schedule, ScheduleErrorKind as Kind};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn ticks(schedule: &Schedule, from: &str, n: usize) -> Vec<String> {
    let next = |&t: &Timestamp| schedule.next_after(t);
    let ticks = std::iter::successors(schedule.next_after(at(from)), next).take(n);
    ticks.map(|tick| tick.to_string()).collect()
}

#[test]
fn a_period_is_aligned_to_the_epoch_or_to_its_anchor() {
    let schedule = Schedule::every(Duration::from_secs(90 * 60)).unwrap();
    let expected = ["2027-01-01T01:30:00Z", "2027-01-01T03:00:00Z"];
    assert_eq!(ticks(&schedule, "2027-01-01T00:00:00Z", 2), expected);
    assert_eq!(
        ticks(&Schedule::cron("@every 1h30m").unwrap(), "2027-01-01T00:00:00Z", 2),
        expected
    );

    let anchored =
        Schedule::every_from(Duration::from_millis(400), at("2027-01-01T00:00:00.0001Z"));
    let expected = ["2027-01-01T00:00:00.001Z", "2027-01-01T00:00:00.401Z"];
    assert_eq!(ticks(&anchored.unwrap(), "2020-01-01T00:00:00Z", 2), expected);
}

#[test]
fn a_period_has_no_tick_before_its_anchor_or_after_the_last_instant() {
    let schedule = Schedule::every(Duration::from_secs(3_600)).unwrap();
    assert_eq!(schedule.next_after(Timestamp::MIN), Some(Timestamp::UNIX_EPOCH));
    assert_eq!(schedule.newest_between(Timestamp::MIN, at("1969-12-31T23:59:59Z")), None);
    assert_eq!(schedule.next_after(Timestamp::MAX), None);
    let last = schedule.newest_between(Timestamp::MIN, Timestamp::MAX).unwrap();
    assert_eq!(last, at("9999-12-30T22:00:00Z"));
    assert_eq!(schedule.next_after(last), None);
    let count = schedule.count_between(Timestamp::MIN, Timestamp::MAX, 1);
    assert_eq!((count.count, count.at_least), (70_389_503, false));
}

#[test]
fn a_period_of_zero_of_fractions_or_of_ages_is_refused() {
    let wrong = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_micros(1_500),
        Duration::from_secs(253_402_207_201),
        Duration::from_secs(u64::MAX),
        Duration::MAX,
    ];
    for period in wrong {
        assert_eq!(Schedule::every(period).unwrap_err().kind(), Kind::Period, "{period:?}");
        let error = Schedule::every_from(period, Timestamp::MAX).unwrap_err();
        assert_eq!(error.kind(), Kind::Period, "{period:?}");
    }
    let longest =
        Schedule::every_from(Duration::from_secs(253_402_207_200), Timestamp::MIN).unwrap();
    assert!(longest.next_after(Timestamp::UNIX_EPOCH).is_some());
}

#[test]
fn a_single_instant_ticks_once() {
    let schedule = Schedule::once(at("2027-01-01T00:00:00.0001Z"));
    let tick = at("2027-01-01T00:00:00.001Z");
    assert_eq!(schedule.next_after(Timestamp::MIN), Some(tick));
    assert_eq!(schedule.next_after(tick - SignedDuration::from_nanos(1)), Some(tick));
    assert_eq!(schedule.next_after(tick), None);
    assert_eq!(schedule.newest_between(Timestamp::MIN, Timestamp::MAX), Some(tick));
    assert_eq!(schedule.newest_between(tick, Timestamp::MAX), None);
    assert_eq!(schedule.count_between(Timestamp::MIN, tick, 0).count, 1);
    assert_eq!(schedule.describe(), "Once, at 2027-01-01T00:00:00.001Z");
}

/// Answers whatever its function says.
#[derive(Debug)]
struct Own(fn(Timestamp) -> Option<Timestamp>);

impl Occurrences for Own {
    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        (self.0)(t)
    }

    fn name(&self) -> String {
        "own".to_owned()
    }
}

#[test]
fn an_answer_of_ones_own_is_cut_up_to_whole_milliseconds_and_passed_on() {
    let ahead = Schedule::custom(Own(|t| t.checked_add(SignedDuration::from_micros(10)).ok()));
    assert_eq!(ticks(&ahead, "2027-01-01T00:00:00Z", 1), ["2027-01-01T00:00:00.001Z"]);
    let stuck = Schedule::custom(Own(Some));
    assert_eq!(stuck.next_after(Timestamp::UNIX_EPOCH), Some(Timestamp::UNIX_EPOCH));
    assert_eq!(stuck.explain(Timestamp::UNIX_EPOCH, 5).count(), 0);
}

#[test]
fn spans_of_a_schedule_that_keeps_no_promise_still_end() {
    let wrong: [fn(Timestamp) -> Option<Timestamp>; 4] = [
        Some,
        |_| Some(Timestamp::MIN),
        |_| Some(at("2027-01-01T00:00:00Z")),
        |t| {
            if t.as_second() % 7 == 0 {
                None
            } else {
                t.checked_add(SignedDuration::from_hours(1)).ok()
            }
        },
    ];
    for wrong in wrong {
        let schedule = Schedule::custom(Own(wrong));
        let newest = schedule.newest_between(Timestamp::MIN, Timestamp::MAX);
        assert!(newest.is_none_or(|tick| tick > Timestamp::MIN));
        assert!(schedule.count_between(Timestamp::MIN, Timestamp::MAX, 100).count <= 100);
    }
}

#[test]
fn the_newest_tick_of_ten_thousand_years_takes_fifty_questions() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let schedule = Schedule::custom(Own(|t| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_millisecond(t.as_millisecond() + 1).ok()
    }));
    let through = at("9999-12-30T21:59:59.999Z");
    assert_eq!(schedule.newest_between(Timestamp::MIN, through), Some(through));
    assert!(ASKED.load(Ordering::Relaxed) <= 51, "{ASKED:?}");
}

#[test]
fn only_a_cron_schedule_takes_a_zone() {
    let hour = Duration::from_secs(3_600);
    for schedule in [
        Schedule::every(hour).unwrap(),
        Schedule::once(Timestamp::UNIX_EPOCH),
        Schedule::custom(Own(|_| None)),
        Schedule::cron("@every 1h").unwrap(),
    ] {
        let error = schedule.time_zone("Europe/Berlin").unwrap_err();
        assert_eq!(error.kind(), Kind::ZoneNotApplicable, "{error}");
    }
    let error = Schedule::cron("TZ=Europe/Berlin @every 1h").unwrap_err();
    assert_eq!((error.kind(), error.column()), (Kind::ZoneNotApplicable, Some(4)));
}

#[test]
fn a_zone_in_the_expression_wins_and_an_unknown_one_is_an_error_in_either_place() {
    let schedule = Schedule::cron("TZ=asia/tokyo 0 9 * * *").unwrap();
    let schedule = schedule.time_zone("Europe/Berlin").unwrap();
    assert_eq!(schedule.zone_name(), Some("Asia/Tokyo"));
    assert_eq!(ticks(&schedule, "2027-01-01T00:00:00Z", 1), ["2027-01-02T00:00:00Z"]);
    assert_eq!(schedule.time_zone("Nowhere").unwrap_err().kind(), Kind::UnknownZone);
    let error = Schedule::cron("CRON_TZ=Nowhere @daily").unwrap_err();
    assert_eq!((error.kind(), error.column()), (Kind::UnknownZone, Some(9)));
    assert_eq!(Schedule::cron("TZ= * * * * *").unwrap_err().kind(), Kind::UnknownZone);
    assert_eq!(Schedule::cron("* * * * *").unwrap().zone_name(), Some("UTC"));
}

#[test]
fn macros_are_the_expressions_they_stand_for() {
    for (macro_, expression) in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 0 1 JAN ?"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * SUN"),
        ("@daily", "0 0 * * *"),
        ("@Midnight", "00 0 */1 * 0-6,*"),
        ("@HOURLY", "0 * * * *"),
    ] {
        let (short, long) = (Schedule::cron(macro_).unwrap(), Schedule::cron(expression).unwrap());
        let (short_ticks, long_ticks) =
            [&short, &long].map(|s| ticks(s, "2027-01-01T00:00:00Z", 5)).into();
        assert_eq!(short_ticks, long_ticks, "{macro_}");
    }
    for wrong in ["@reboot", "@every", "@", "@daily 5", "@every 1h 5", "@every 0s", "@every 1.5ms"]
    {
        Schedule::cron(wrong).unwrap_err();
    }
}

#[test]
fn a_missing_day_is_no_gap_for_a_fixed_time_unless_chosen() {
    // Samoa had no 30 December 2011.
    let noon = Schedule::cron("TZ=Pacific/Apia 0 12 * * *").unwrap();
    let around = "2011-12-29T12:00:00Z";
    assert_eq!(ticks(&noon, around, 2), ["2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"]);
    let chosen = noon.on_gap(OnGap::After);
    assert_eq!(
        ticks(&chosen, around, 3),
        ["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"]
    );
}

#[test]
fn a_job_may_choose_its_own_rules_for_changes_of_the_clocks() {
    let berlin =
        |expression: &str| Schedule::cron(expression).unwrap().time_zone("Europe/Berlin").unwrap();
    let spring = "2027-03-27T12:00:00Z";
    let skipped = berlin("30 2 * * *").on_gap(OnGap::Skip);
    assert_eq!(ticks(&skipped, spring, 1), ["2027-03-29T00:30:00Z"]);
    let after = berlin("10 */2 * * *").on_gap(OnGap::After);
    assert_eq!(
        ticks(&after, "2027-03-28T00:00:00Z", 2),
        ["2027-03-28T01:00:00Z", "2027-03-28T02:10:00Z"]
    );
    let autumn = "2027-10-30T12:00:00Z";
    let both = berlin("30 2 * * *").on_repeat(OnRepeat::Both);
    assert_eq!(ticks(&both, autumn, 2), ["2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"]);
    let second = berlin("30 2 * * *").on_repeat(OnRepeat::Second);
    assert_eq!(ticks(&second, autumn, 2), ["2027-10-31T01:30:00Z", "2027-11-01T01:30:00Z"]);
    let first = berlin("*/30 2,3 * * *").on_repeat(OnRepeat::First);
    assert_eq!(
        ticks(&first, "2027-10-31T00:00:00Z", 2),
        ["2027-10-31T00:30:00Z", "2027-10-31T02:00:00Z"]
    );
}

#[test]
fn a_shift_of_half_an_hour_moves_only_what_it_leaves_out() {
    // Lord Howe goes from 02:00 to 02:30.
    let from = "2027-10-02T10:00:00Z";
    let fixed = Schedule::cron("TZ=Australia/Lord_Howe 15,45 2 * * *").unwrap();
    assert_eq!(
        ticks(&fixed, from, 3),
        ["2027-10-02T15:30:00Z", "2027-10-02T15:45:00Z", "2027-10-03T15:15:00Z"]
    );
}

#[test]
fn cron_goes_on_past_2100_and_ends_with_the_last_instant() {
    let leap = Schedule::cron("0 0 29 2 *").unwrap();
    assert_eq!(
        ticks(&leap, "2095-01-01T00:00:00Z", 2),
        ["2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"]
    );
    let monday = Schedule::cron("0 0 ? 2 MON#5").unwrap();
    assert_eq!(
        ticks(&monday, "2072-03-01T00:00:00Z", 1),
        ["2112-02-29T00:00:00Z"],
        "40 years apart round 2100"
    );
    let berlin = Schedule::cron("TZ=Europe/Berlin 30 2 * * *").unwrap();
    assert_eq!(
        ticks(&berlin, "9999-12-29T00:00:00Z", 9),
        ["9999-12-29T01:30:00Z", "9999-12-30T01:30:00Z"]
    );
    let years = Schedule::cron("0 0 0 1 1 ? 2099/1").unwrap();
    assert_eq!(
        ticks(&years, "2098-06-01T00:00:00Z", 9),
        ["2099-01-01T00:00:00Z", "2100-01-01T00:00:00Z"]
    );
}

#[test]
fn fingerprints_are_the_same_for_ever() {
    let cron = |expression: &str| Schedule::cron(expression).unwrap();
    let hour = Duration::from_secs(3_600);
    let anchor = at("2027-01-01T00:15:00Z");
    let cases = [
        (cron("30 2 * * *"), "0 30 2 * * *"),
        (cron("TZ=UTC 30 2 * * ?"), "0 30 2 * * *"),
        (cron("TZ=europe/berlin 30 2 * jan-MAR 7"), "TZ=Europe/Berlin 0 30 2 * 1-3 0"),
        (cron("5/15 */1 LW,15W * FRI#2,5L"), "0 5-59/15 * LW,15W * 5#2,5L"),
        (cron("0 0 0 1 1 * 2027/2"), "0 0 0 1 1 * 2027-2100/2"),
        (cron("@hourly").on_gap(OnGap::After), "0 0 * * * * gap=after"),
        (cron("@daily").on_gap(OnGap::Skip), "0 0 0 * * * gap=skip"),
        (cron("@daily").on_repeat(OnRepeat::First), "0 0 0 * * *"),
        (cron("@daily").on_repeat(OnRepeat::Second), "0 0 0 * * * repeat=second"),
        (cron("@every 1h"), "@every 3600000ms"),
        (Schedule::every(hour).unwrap(), "@every 3600000ms"),
        (Schedule::every_from(hour, anchor).unwrap(), "@every 3600000ms from 1798762500000"),
        (Schedule::once(anchor), "@once 2027-01-01T00:15:00Z"),
        (Schedule::custom(Own(|_| None)), "@custom own"),
    ];
    for (schedule, text) in cases {
        assert_eq!(schedule.to_string(), text);
        // FNV-1a of the text, by the book.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(schedule.fingerprint().get(), hash, "{text}");
    }
}

#[test]
fn an_error_marks_what_is_wrong() {
    for (expression, marked, found, expected) in [
        ("0 0 1,32 * *", "32", "32", "a number from 1 to 31, `L`, `LW` or a number with `W`"),
        ("0 0 * FEBR *", "FEBR", "FEBR", "a number from 1 to 12 or a name from JAN to DEC"),
        ("*/0 * * * *", "0 ", "0", "a step from 1 to 60"),
        ("0 22-2 * * *", "22-2", "22-2", "a range whose end is not before its start 22"),
        ("0 0 * * FRI#6", "6", "6", "a turn in the month from 1 to 5"),
        ("0 0 15W-17 * *", "-17", "-17", "`,`, a blank or the end"),
        ("0 0 1, * *", " * *", " ", "a number from 1 to 31, `L`, `LW` or a number with `W`"),
        ("@fortnightly", "@f", "@fortnightly", "@yearly"),
        ("TZ=Mars/Base 0 0 * * *", "Mars", "Mars/Base", "the name of a zone"),
        ("0 0 0 31 4,6 ? *", "31", "31", "a day that exists"),
        ("0 0 L-3 * *", "L-3", "L-3", "a number from 1 to 31"),
    ] {
        let error = Schedule::cron(expression).unwrap_err();
        let text = error.to_string();
        let lines = text.lines().collect::<Vec<_>>();
        let caret = lines[2].find('^').unwrap();
        assert!(lines[1][caret..].starts_with(marked), "{text}");
        assert_eq!(error.column(), Some(caret - 1), "{text}");
        assert_eq!(error.found_text(), Some(found), "{text}");
        assert!(error.expected().starts_with(expected), "{text}");
    }
}

#[test]
#[allow(clippy::disallowed_methods)] // real time is what it is about
fn nothing_that_is_refused_takes_a_millisecond() {
    let ranges = (0..60).flat_map(|a| (a..60).map(move |b| format!("{a}-{b}")));
    let ranges = ranges.take(190).collect::<Vec<_>>().join(",");
    for expression in [
        "0 0 30 2 *",
        "0 0 0 30,31 2 ? 1970-2100",
        "0 0 31 4,6,9,11 *",
        "0-99999999/1 * * * *",
        &format!("{ranges} 0 30 2 *"),
        &"* ".repeat(512),
        &"é".repeat(1 << 20),
    ] {
        let once = || {
            let start = std::time::Instant::now();
            Schedule::cron(expression).unwrap_err();
            start.elapsed()
        };
        // The best of a few: another process may hold the core.
        let best = (0..20).map(|_| once()).min().unwrap();
        assert!(best < Duration::from_millis(1), "{best:?} for {expression:.40}");
    }
}
