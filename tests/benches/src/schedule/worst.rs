//! The longest call that can be made.

use std::hint::black_box;
use std::time::Duration;

use jiff::Timestamp;
use tidelock::Schedule;
use tokio::time::Instant;

use super::peers::broken;
use crate::goal::Goal;
use crate::table::{Table, show};

/// Expressions that fire once in years, or never again, or at times that clocks leave out.
const EXPRESSIONS: [&str; 18] = [
    "0 0 29 2 *",
    "0 0 0 29 2 * 2096",
    "0 0 0 1 1 * 2100",
    "0 0 0 1 1 * 1970",
    "59 59 23 31 12 *",
    "0 0 0 29 2 MON#5",
    "0 0 * 2 SUN#5",
    "0 0 29W 2 *",
    "0 0 LW 2 *",
    "0 0 31 12 5L",
    "30 2 29 2 *",
    "0 0 0 31 1,3,5,7,8,10,12 * 1970-2100/65",
    "30 2 28-31 3 0",
    "* * * * * *",
    "0 0 1 1 *",
    "17 3 L 2 SAT#5",
    // All its times are left out in Berlin, and in New York: the search goes through all years.
    "*/15 2 * 3 0L",
    "*/15 2 * 3 SUN#2",
];

/// Zones with much history, odd offsets, gaps of a day, and rules that end.
const ZONES: [&str; 9] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Gaza",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Antarctica/Troll",
];

pub(super) fn run() {
    let mut slowest: Vec<(Duration, String)> = Vec::new();
    for zone in ZONES {
        let mut of_zone = (Duration::ZERO, String::new());
        for text in EXPRESSIONS {
            let schedule = Schedule::cron(text).and_then(|schedule| schedule.time_zone(zone));
            let schedule = schedule.unwrap_or_else(|error| broken(error));
            for at in instants() {
                let took = quickest(&schedule, at);
                if took > of_zone.0 {
                    of_zone = (took, format!("{text}, {zone}, after {at}"));
                }
            }
        }
        slowest.push(of_zone);
    }
    slowest.sort();
    let mut table = Table::new(&["slowest call of each zone", "us"]);
    for (took, what) in slowest.iter().rev() {
        table.row(what, [show(took.as_secs_f64() * 1e6)]);
    }
    table.print();
    let worst = slowest.last().map_or(f64::NAN, |(took, _)| took.as_secs_f64() * 1e6);
    Goal::at_most("the longest call of all, us", worst, 20.0).tell();
}

/// The ends of time, the ends of `cron`'s years, and a lattice in between.
fn instants() -> impl Iterator<Item = Timestamp> {
    let ends = [i64::MIN, -1, 0, 4_102_444_799, 4_102_444_800, 4_133_980_800, 253_402_207_200];
    let lattice = (0..330).map(|step| step * 397 * 86_400 + 7 * step);
    let far = (0..120).map(|step| 4_000_000_000 + step * 4_001 * 86_400 / 2);
    ends.into_iter().chain(lattice).chain(far).map(|second| {
        let end = if second < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::from_second(second).unwrap_or(end)
    })
}

/// The quickest of a few calls: what is slower is the machine's doing.
fn quickest(schedule: &Schedule, at: Timestamp) -> Duration {
    let times = (0..5).map(|_| {
        let begun = Instant::now();
        black_box(schedule.next_after(black_box(at)));
        begun.elapsed()
    });
    times.min().unwrap_or_default()
}
