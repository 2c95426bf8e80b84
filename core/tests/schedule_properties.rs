//! What holds for every schedule at every instant, on random ones.
//!
//! `PROPTEST_CASES` says how many.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test file for library code

mod schedule_common;

use std::collections::HashMap;
use std::time::Duration;

use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};
use schedule_common::{Expression, Rng, cases};
use tidelock::{OnGap, OnRepeat, Schedule, TickCount};

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

struct Random {
    rng: Rng,
    zones: Vec<String>,
}

impl Random {
    fn new(rng: Rng) -> Self {
        let database = TimeZoneDatabase::bundled();
        Self { rng, zones: database.available().map(|name| name.to_string()).collect() }
    }

    /// Any expression that fires, in any zone, with any rules.
    fn schedule(&mut self) -> Schedule {
        let rng = &mut self.rng;
        let mut schedule = loop {
            if let Ok(schedule) = Schedule::cron(&Expression::random(rng).ours) {
                break schedule;
            }
        };
        if rng.percent(80) {
            schedule = schedule.time_zone(rng.pick(&self.zones).as_str()).unwrap();
        }
        match rng.between(0, 3) {
            0 => schedule = schedule.on_gap(OnGap::Skip),
            1 => schedule = schedule.on_gap(OnGap::After),
            _ => {}
        }
        match rng.between(0, 5) {
            0 => schedule.on_repeat(OnRepeat::First),
            1 => schedule.on_repeat(OnRepeat::Second),
            2 => schedule.on_repeat(OnRepeat::Both),
            _ => schedule,
        }
    }

    /// Any instant, most of them between 1970 and 2150, half of those within three hours of a change
    /// of some zone's clocks.
    fn instant(&mut self) -> Timestamp {
        let rng = &mut self.rng;
        let nanosecond = i32::try_from(rng.between(0, 999_999_999)).unwrap();
        let (min, max) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        let second = match rng.between(0, 19) {
            0 => rng.between(min, max),
            1 => rng.between(max - 86_400 * 400, max),
            2 => rng.between(min, min + 1_000),
            _ => rng.between(-86_400, 5_680_281_600),
        };
        let t = Timestamp::new(second, nanosecond).unwrap();
        if rng.percent(50) {
            return t;
        }
        let zone = TimeZoneDatabase::bundled().get(rng.pick(&self.zones).as_str()).unwrap();
        match zone.following(t).next() {
            Some(change) => {
                let off = SignedDuration::from_secs(rng.between(-10_800, 10_800));
                change.timestamp().checked_add(off).unwrap_or(t)
            }
            None => t,
        }
    }
}

#[test]
fn the_next_tick_is_later_and_the_same_from_all_instants_before_it() {
    let (rng, _seed) = Rng::seeded();
    let mut random = Random::new(rng);
    let mut ticks = 0_u64;
    for _ in 0..cases(30_000) {
        let schedule = random.schedule();
        let mut t = random.instant();
        for _ in 0..3 {
            let Some(tick) = schedule.next_after(t) else {
                break;
            };
            assert!(tick > t, "{schedule} after {t} gave {tick}");
            assert_eq!(tick.subsec_nanosecond(), 0, "{schedule} after {t} gave {tick}");
            let before = [tick - SignedDuration::from_millis(1), tick - NANOSECOND];
            for before in before.into_iter().filter(|&before| before >= t) {
                assert_eq!(schedule.next_after(before), Some(tick), "{schedule} after {before}");
            }
            // Somewhere between them, too.
            let span = tick.as_second() - t.as_second();
            let between = t + SignedDuration::from_secs(random.rng.between(0, span - 1).max(0));
            if between < tick {
                assert_eq!(schedule.next_after(between), Some(tick), "{schedule} after {between}");
            }
            t = tick;
            ticks += 1;
        }
        if schedule.next_after(t).is_none() {
            let later = t.checked_add(SignedDuration::from_hours(24 * 365)).unwrap_or(t);
            assert_eq!(schedule.next_after(later), None, "{schedule} ended at {t}");
        }
    }
    println!("{ticks} ticks");
}

#[test]
fn the_newest_tick_of_a_span_and_their_number_are_those_of_a_walk() {
    let (rng, _seed) = Rng::seeded();
    let mut random = Random::new(rng);
    for _ in 0..cases(10_000) {
        let schedule = match random.rng.between(0, 9) {
            0..=7 => random.schedule(),
            8 => Schedule::once(random.instant()),
            _ => {
                let longest = 1 << random.rng.between(1, 40);
                let period = random.rng.between(1, longest);
                let period = Duration::from_millis(period.unsigned_abs());
                Schedule::every_from(period, random.instant()).unwrap()
            }
        };
        let after = random.instant();
        let limit = random.rng.between(0, 40).unsigned_abs();
        let mut ticks = Vec::new();
        let next = |&t: &Timestamp| schedule.next_after(t);
        ticks.extend(std::iter::successors(schedule.next_after(after), next).take(40));
        let Some(&last) = ticks.last() else { continue };
        let span = (last.as_millisecond() - after.as_millisecond()).min(1 << 50);
        let through = match random.rng.between(0, 3) {
            0 => last,
            1 => *random.rng.pick(&ticks),
            _ => after + SignedDuration::from_millis(random.rng.between(0, span - 1).max(0)),
        };
        let within = ticks.iter().filter(|&&tick| tick <= through).count() as u64;
        let newest = ticks.iter().rfind(|&&tick| tick <= through).copied();
        assert_eq!(schedule.newest_between(after, through), newest, "{schedule} {after} {through}");
        let TickCount { count, at_least, .. } = schedule.count_between(after, through, limit);
        if at_least {
            assert!(count == limit && within > limit, "{schedule} {after} {through} {limit}");
        } else {
            assert_eq!(count, within, "{schedule} {after} {through} {limit}");
        }
        assert_eq!(schedule.newest_between(through, after), None, "{schedule}");
    }
}

/// Text of what expressions are made of, or of anything.
fn text(rng: &mut Rng) -> String {
    const PARTS: &[&str] = &[
        "*",
        "0",
        "5",
        "59",
        "60",
        "7",
        "31",
        "2027",
        "-",
        "/",
        ",",
        "#",
        "L",
        "W",
        "LW",
        "15W",
        "?",
        " ",
        " ",
        " ",
        "\t",
        "MON",
        "fri",
        "JAN",
        "SUN-",
        "TZ=",
        "CRON_TZ=",
        "UTC ",
        "Europe/Berlin ",
        "@every ",
        "@daily",
        "1h30m",
        "99999999999999999999",
        "0.5",
        "ms",
        "\u{0}",
        "é",
        "😀",
        "\u{202e}",
        "١",
        "\u{a0}",
        "\u{2028}",
        "x",
        "=",
        "@",
        "+",
        ".",
    ];
    let mut text = match rng.between(0, 3) {
        0 => String::new(),
        _ => Expression::random(rng).ours,
    };
    let most = *rng.pick(&[1, 2, 12]);
    for _ in 0..rng.between(0, most) {
        let at = usize::try_from(rng.between(0, i64::try_from(text.len()).unwrap())).unwrap();
        if !text.is_char_boundary(at) {
            continue;
        }
        match rng.between(0, 3) {
            0 => text.truncate(at),
            1 if at < text.len() => drop(text.remove(at)),
            2 => {
                let code = u32::try_from(rng.between(0, 0x10_ffff)).unwrap();
                text.insert(at, char::from_u32(code).unwrap_or('-'));
            }
            _ => text.insert_str(at, rng.pick::<&str>(PARTS)),
        }
    }
    text
}

/// Everything there is to ask of a schedule.
fn ask(schedule: &Schedule, t: Timestamp) {
    for t in [t, Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
        if let Some(tick) = schedule.next_after(t) {
            assert!(tick > t, "{schedule} after {t} gave {tick}");
        }
    }
    schedule.newest_between(Timestamp::MIN, t);
    schedule.count_between(t, Timestamp::MAX, 3);
    assert!(!schedule.describe().is_empty());
    let explained = schedule.explain(t, 2).filter(|tick| tick.is_tick()).map(|tick| tick.instant);
    let ticks = std::iter::successors(schedule.next_after(t), |&t| schedule.next_after(t)).take(2);
    assert!(explained.eq(ticks), "{schedule} after {t}");
    schedule.fingerprint();
}

#[test]
fn no_text_makes_a_schedule_panic_and_every_error_is_safe_to_print() {
    let (rng, _seed) = Rng::seeded();
    let mut random = Random::new(rng);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..cases(30_000) {
        let text = text(&mut random.rng);
        match Schedule::cron(&text) {
            Ok(schedule) => {
                read += 1;
                let again = Schedule::cron(&schedule.to_string()).unwrap();
                assert_eq!(again.to_string(), schedule.to_string(), "{text:?}");
                assert_eq!(again.fingerprint(), schedule.fingerprint(), "{text:?}");
                ask(&schedule, random.instant());
            }
            Err(error) => {
                refused += 1;
                let shown = error.to_string();
                assert!(shown.chars().all(|c| c == '\n' || (' '..='~').contains(&c)), "{shown:?}");
                assert!(shown.len() < 2_000 && !error.expected().is_empty(), "{shown:?}");
                let column = error.column().unwrap();
                assert!((1..=text.chars().count() + 1).contains(&column), "{text:?}: {column}");
                let lines = shown.lines().collect::<Vec<_>>();
                assert_eq!(lines.len(), 3, "{shown}");
                assert!(lines[2].len() <= lines[1].len() + 1, "{shown}");
            }
        }
    }
    println!("{read} read, {refused} refused");
}

#[test]
fn schedules_that_read_alike_tick_alike() {
    let (rng, _seed) = Rng::seeded();
    let mut random = Random::new(rng);
    let mut known = HashMap::<String, Schedule>::new();
    // Few values, so that many expressions are nearly the same.
    let times =
        ["*", "0", "2", "*/2", "0,2", "2,0", "0-2", "*/2,1", "1,*/2", "*/60", "2-5/3", "2/30"];
    let hours = ["*", "2", "*/2", "0,2", "1-3", "2,*/12", "*/12,2", "*/24", "0"];
    let days = ["*", "1", "L", "LW", "1W", "1-31", "*/2", "1,L", "31"];
    let months = ["*", "2", "3", "*/3", "3,10", "JAN-DEC"];
    let weekdays = ["*", "0", "7", "5-1", "1-5", "SUN#1", "0L", "*/2", "0-6", "7,1"];
    let (mut alike, mut apart) = (0, 0);
    for _ in 0..cases(30_000) {
        let rng = &mut random.rng;
        let mut expression = String::new();
        let fields: [&[&str]; 5] = [&times, &hours, &days, &months, &weekdays];
        for (index, field) in fields.iter().enumerate() {
            // Most of them plain, so that the same ones come up again.
            let plain = if index < 2 { "2" } else { "*" };
            expression += if rng.percent(40) { plain } else { *rng.pick::<&str>(field) };
            expression.push(' ');
        }
        let Ok(mut schedule) = Schedule::cron(&expression) else {
            continue;
        };
        schedule = schedule.time_zone("Europe/Berlin").unwrap();
        if rng.percent(10) {
            schedule = schedule.on_gap(*rng.pick(&[OnGap::Skip, OnGap::After]));
        }
        if rng.percent(10) {
            schedule =
                schedule.on_repeat(*rng.pick(&[OnRepeat::First, OnRepeat::Second, OnRepeat::Both]));
        }
        let Some(other) = known.insert(schedule.describe(), schedule.clone()) else {
            continue;
        };
        if other.to_string() == schedule.to_string() {
            alike += 1;
            continue;
        }
        apart += 1;
        for start in ["2027-03-27T22:00:00Z", "2027-10-30T22:00:00Z", "2028-02-28T00:00:00Z"] {
            let mut t: Timestamp = start.parse().unwrap();
            for _ in 0..60 {
                let tick = schedule.next_after(t);
                let text = schedule.describe();
                assert_eq!(tick, other.next_after(t), "{text}: {schedule} and {other} after {t}");
                let Some(tick) = tick else { break };
                t = tick;
            }
        }
    }
    println!("{} descriptions, {alike} again, {apart} for another spelling", known.len());
}
