//! Every change of the clocks from 1990 to 2037 in many zones, minute by minute.
//!
//! The walk knows nothing of the crate's own: it asks `jiff` for the wall-clock time of each minute
//! and decides by hand whether a job is due. `TIDELOCK_WALK=all` tries all expressions with all
//! rules at every change instead of a few drawn at random.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test file for library code

mod schedule_common;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use schedule_common::Rng;
use tidelock::{OnGap, OnRepeat, Schedule};

const ZONES: &[&str] = &[
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "Africa/Windhoek",
    "America/Asuncion",
    "America/Caracas",
    "America/Godthab",
    "America/Havana",
    "America/Los_Angeles",
    "America/Mexico_City",
    "America/Miquelon",
    "America/New_York",
    "America/Noronha",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Scoresbysund",
    "America/St_Johns",
    "Antarctica/Casey",
    "Antarctica/Davis",
    "Antarctica/Macquarie",
    "Antarctica/Troll",
    "Antarctica/Vostok",
    "Asia/Amman",
    "Asia/Baku",
    "Asia/Beirut",
    "Asia/Damascus",
    "Asia/Gaza",
    "Asia/Jerusalem",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Asia/Tbilisi",
    "Asia/Ulaanbaatar",
    "Atlantic/Azores",
    "Atlantic/Stanley",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Europe/Kaliningrad",
    "Europe/Lisbon",
    "Europe/London",
    "Europe/Moscow",
    "Europe/Simferopol",
    "Pacific/Apia",
    "Pacific/Auckland",
    "Pacific/Bougainville",
    "Pacific/Chatham",
    "Pacific/Easter",
    "Pacific/Enderbury",
    "Pacific/Fiji",
    "Pacific/Kiritimati",
    "Pacific/Kwajalein",
    "Pacific/Norfolk",
    "Pacific/Tongatapu",
];

/// A minute of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wall {
    /// Minutes since 1970 on the wall.
    count: i64,
    minute: i64,
    hour: i64,
    day: i64,
    month: i64,
    /// Sunday is 0.
    weekday: i64,
}

impl Wall {
    fn from_count(count: i64) -> Self {
        let t = Timestamp::from_second(count * 60).unwrap();
        let wall = jiff::tz::Offset::UTC.to_datetime(t);
        Self {
            count,
            minute: wall.minute().into(),
            hour: wall.hour().into(),
            day: wall.day().into(),
            month: wall.month().into(),
            weekday: wall.weekday().to_sunday_zero_offset().into(),
        }
    }
}

struct Job {
    text: &'static str,
    due: fn(&Wall) -> bool,
    fixed_time: bool,
}

const JOBS: &[Job] = &[
    Job { text: "* * * * *", due: |_| true, fixed_time: false },
    Job { text: "*/5 * * * *", due: |w| w.minute % 5 == 0, fixed_time: false },
    Job { text: "0 * * * *", due: |w| w.minute == 0, fixed_time: false },
    Job { text: "0 0 * * *", due: |w| w.hour + w.minute == 0, fixed_time: true },
    Job { text: "30 2 * * *", due: |w| w.hour == 2 && w.minute == 30, fixed_time: true },
    Job { text: "*/20 * * * *", due: |w| w.minute % 20 == 0, fixed_time: false },
    Job { text: "0,20,40 0-4 * * *", due: |w| w.minute % 20 == 0 && w.hour < 5, fixed_time: true },
    Job { text: "15 */2 * * *", due: |w| w.minute == 15 && w.hour % 2 == 0, fixed_time: false },
    Job { text: "* 2 * * *", due: |w| w.hour == 2, fixed_time: false },
    Job { text: "0-59 23,0-3 * * *", due: |w| w.hour == 23 || w.hour < 4, fixed_time: true },
    Job { text: "59 23 * * *", due: |w| w.hour == 23 && w.minute == 59, fixed_time: true },
    Job {
        text: "5 0-3 1-7 * SUN",
        due: |w| w.minute == 5 && w.hour < 4 && (w.day < 8 || w.weekday == 0),
        fixed_time: true,
    },
    Job {
        text: "*/10 1,2 * 3,10 *",
        due: |w| w.minute % 10 == 0 && (1..3).contains(&w.hour) && [3, 10].contains(&w.month),
        fixed_time: false,
    },
    Job {
        text: "45 1 * * SUN#1,SUN#5",
        due: |w| {
            let turn = (w.day + 6) / 7;
            w.minute == 45 && w.hour == 1 && w.weekday == 0 && [1, 5].contains(&turn)
        },
        fixed_time: true,
    },
];

const GAPS: [Option<OnGap>; 3] = [None, Some(OnGap::Skip), Some(OnGap::After)];
const REPEATS: [Option<OnRepeat>; 4] =
    [None, Some(OnRepeat::First), Some(OnRepeat::Second), Some(OnRepeat::Both)];

/// The minutes round one change, and of each the wall clock, whether it showed that before, and
/// whether it will again.
struct Night {
    /// Minutes since 1970 in UTC.
    start: i64,
    minutes: Vec<(Wall, bool, bool)>,
}

const BEFORE: i64 = 2 * 1_440;
const AFTER: i64 = 2 * 1_440;
/// The walk looks so much further, in case another change is near.
const MARGIN: i64 = 1_440;

impl Night {
    fn round(zone: &TimeZone, change: Timestamp) -> Self {
        let start = change.as_second().div_euclid(60) - BEFORE;
        let walls = (start - MARGIN..start + BEFORE + AFTER + MARGIN).map(|minute| {
            let t = Timestamp::from_second(minute * 60).unwrap();
            let offset = i64::from(zone.to_offset(t).seconds());
            assert_eq!(offset % 60, 0, "since 1990 every offset is in whole minutes");
            Wall::from_count(minute + offset / 60)
        });
        let mut minutes = walls.map(|wall| (wall, false, false)).collect::<Vec<_>>();
        let mut furthest = i64::MIN;
        for (wall, before, _) in &mut minutes {
            *before = wall.count <= furthest;
            furthest = furthest.max(wall.count);
        }
        let mut nearest = i64::MAX;
        for (wall, _, again) in minutes.iter_mut().rev() {
            *again = wall.count >= nearest;
            nearest = nearest.min(wall.count);
        }
        Self { start: start - MARGIN, minutes }
    }

    /// The ticks from the first minute compared to the last.
    fn ticks(&self, job: &Job, gap: Option<OnGap>, repeat: Option<OnRepeat>) -> Vec<i64> {
        let default = if job.fixed_time { OnRepeat::First } else { OnRepeat::Both };
        let repeat = repeat.unwrap_or(default);
        let mut ticks = Vec::new();
        let mut furthest = self.minutes[0].0.count;
        for (index, (wall, before, again)) in self.minutes.iter().enumerate() {
            let left_out = wall.count - furthest - 1;
            let after_gap = match gap {
                None if job.fixed_time => (1..180).contains(&left_out),
                Some(OnGap::After) => left_out > 0,
                _ => false,
            };
            let in_gap = after_gap
                && (wall.count - left_out..wall.count)
                    .any(|count| (job.due)(&Wall::from_count(count)));
            let shown = match repeat {
                OnRepeat::First => !before,
                OnRepeat::Second => !again,
                _ => true,
            };
            furthest = furthest.max(wall.count);
            if in_gap || shown && (job.due)(wall) {
                ticks.push(self.start + i64::try_from(index).unwrap());
            }
        }
        let compared = self.start + MARGIN..self.start + MARGIN + BEFORE + AFTER;
        ticks.retain(|tick| compared.contains(tick));
        ticks
    }
}

fn schedule(zone: &str, job: &Job, gap: Option<OnGap>, repeat: Option<OnRepeat>) -> Schedule {
    let mut schedule = Schedule::cron(job.text).unwrap().time_zone(zone).unwrap();
    if let Some(gap) = gap {
        schedule = schedule.on_gap(gap);
    }
    if let Some(repeat) = repeat {
        schedule = schedule.on_repeat(repeat);
    }
    schedule
}

/// The ticks of `schedule` in the minutes compared, each asked for from the one before and from the
/// last instant before it.
fn walked(schedule: &Schedule, night: &Night) -> Vec<i64> {
    let start = (night.start + MARGIN) * 60_000;
    let end = start + (BEFORE + AFTER) * 60_000;
    let mut ticks = Vec::new();
    let mut t = Timestamp::from_millisecond(start - 1).unwrap();
    while let Some(tick) = schedule.next_after(t).filter(|tick| tick.as_millisecond() < end) {
        assert!(tick > t, "{schedule} after {t} gave {tick}");
        let just_before = tick - jiff::SignedDuration::from_nanos(1);
        assert_eq!(schedule.next_after(just_before), Some(tick), "{schedule} before {tick}");
        assert_eq!(tick.as_millisecond() % 60_000, 0, "{schedule} gave {tick}");
        ticks.push(tick.as_second() / 60);
        t = tick;
    }
    ticks
}

#[test]
fn every_tick_round_every_change_of_the_clocks_is_the_walks() {
    let all = std::env::var("TIDELOCK_WALK").is_ok_and(|walk| walk == "all");
    let (mut rng, _seed) = Rng::seeded();
    let database = TimeZoneDatabase::bundled();
    let (from, to): (Timestamp, Timestamp) =
        ("1990-01-01T00:00:00Z".parse().unwrap(), "2038-01-01T00:00:00Z".parse().unwrap());
    let (mut changes, mut nights, mut ticks) = (0, 0, 0);
    let mut compare = |zone: &str, night: &Night, job: &Job, gap, repeat| {
        let schedule = schedule(zone, job, gap, repeat);
        let (expected, actual) = (night.ticks(job, gap, repeat), walked(&schedule, night));
        if let Some(index) = (0..expected.len().max(actual.len()))
            .find(|&index| expected.get(index) != actual.get(index))
        {
            let shown = |ticks: &[i64]| {
                let tick = ticks.get(index).map(|tick| Timestamp::from_second(tick * 60).unwrap());
                tick.map_or("no tick".to_owned(), |tick| tick.to_string())
            };
            panic!("{schedule}: {} where the walk has {}", shown(&actual), shown(&expected));
        }
        nights += 1;
        ticks += actual.len();
    };
    for name in ZONES {
        let zone = database.get(name).unwrap();
        let until = |transition: &jiff::tz::TimeZoneTransition<'_>| transition.timestamp() < to;
        for transition in zone.following(from).take_while(until) {
            changes += 1;
            let night = Night::round(&zone, transition.timestamp());
            if all {
                for job in JOBS {
                    for gap in GAPS {
                        REPEATS.iter().for_each(|&repeat| compare(name, &night, job, gap, repeat));
                    }
                }
            } else {
                compare(name, &night, rng.pick(&JOBS[3..]), None, None);
                let (gap, repeat) = (*rng.pick(&GAPS), *rng.pick(&REPEATS));
                compare(name, &night, rng.pick(JOBS), gap, repeat);
            }
        }
    }
    println!("{} zones, {changes} changes, {nights} walks, {ticks} ticks", ZONES.len());
}

/// All zones there are, the expressions that other schedulers went wrong on, and no oracle but
/// order: one change in fifty, or each with `TIDELOCK_WALK=all`.
#[test]
fn the_next_tick_is_later_round_changes_in_all_zones() {
    let all = std::env::var("TIDELOCK_WALK").is_ok_and(|walk| walk == "all");
    let (mut rng, _seed) = Rng::seeded();
    let database = TimeZoneDatabase::bundled();
    let (from, to): (Timestamp, Timestamp) =
        ("1990-01-01T00:00:00Z".parse().unwrap(), "2038-01-01T00:00:00Z".parse().unwrap());
    let mut ticks = 0;
    for name in database.available() {
        let zone = database.get(name.as_str()).unwrap();
        let schedules: Vec<_> =
            JOBS[..5].iter().map(|job| schedule(name.as_str(), job, None, None)).collect();
        for change in zone.following(from).take_while(|change| change.timestamp() < to) {
            if !all && !rng.percent(2) {
                continue;
            }
            let start = change.timestamp().as_second().div_euclid(60) - BEFORE - MARGIN;
            let night = Night { start, minutes: Vec::new() };
            ticks += schedules.iter().map(|schedule| walked(schedule, &night).len()).sum::<usize>();
        }
    }
    println!("{ticks} ticks");
}
