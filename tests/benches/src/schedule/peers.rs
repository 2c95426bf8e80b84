//! One expression in the spelling of each library.

use std::str::FromStr;

use chrono::{DateTime, TimeZone};
use chrono_tz::Tz;

/// An expression with the same ticks in all three libraries.
pub(super) struct Expression {
    /// Ours and croner's: second first, Sunday as 0.
    pub(super) text: &'static str,
    /// The `cron` crate's, which counts Sunday as 1.
    pub(super) for_cron: &'static str,
    /// How many ticks are walked: more of those that are near each other.
    pub(super) ticks: usize,
}

/// From dense to sparse.
pub(super) const EXPRESSIONS: [Expression; 6] = [
    Expression { text: "*/5 * * * * *", for_cron: "*/5 * * * * *", ticks: 5_000 },
    Expression { text: "0 */5 * * * *", for_cron: "0 */5 * * * *", ticks: 5_000 },
    Expression { text: "30 15 3 * * 1-5", for_cron: "30 15 3 * * MON-FRI", ticks: 5_000 },
    Expression { text: "0 0 2 1 * *", for_cron: "0 0 2 1 * *", ticks: 500 },
    Expression { text: "0 0 0 1 1 *", for_cron: "0 0 0 1 1 *", ticks: 50 },
    Expression { text: "0 0 0 29 2 *", for_cron: "0 0 0 29 2 *", ticks: 12 },
];

/// The zone that ticks are worked out in.
pub(super) const ZONE: &str = "Europe/Berlin";

/// 2027-01-01T00:00:00Z. The walks end before 2100, where `cron` does.
pub(super) const START: i64 = 1_798_761_600;

pub(super) fn cron(expression: &Expression) -> cron::Schedule {
    cron::Schedule::from_str(expression.for_cron).unwrap_or_else(|error| broken(error))
}

pub(super) fn croner(expression: &Expression) -> croner::Cron {
    croner_parser().parse(expression.text).unwrap_or_else(|error| broken(error))
}

pub(super) fn croner_parser() -> croner::parser::CronParser {
    croner::parser::CronParser::builder().seconds(croner::parser::Seconds::Optional).build()
}

pub(super) fn ours(expression: &Expression, zone: Option<&str>) -> tidelock::Schedule {
    let schedule = tidelock::Schedule::cron(expression.text).and_then(|schedule| match zone {
        Some(zone) => schedule.time_zone(zone),
        None => Ok(schedule),
    });
    schedule.unwrap_or_else(|error| broken(error))
}

pub(super) fn berlin() -> Tz {
    Tz::Europe__Berlin
}

/// An instant as the peers have it.
pub(super) fn instant<Z: TimeZone>(zone: &Z, second: i64) -> DateTime<Z> {
    DateTime::from_timestamp(second, 0).unwrap_or_default().with_timezone(zone)
}

/// The benchmark's own expressions are right, or it has nothing to measure.
pub(super) fn broken(error: impl std::fmt::Display) -> ! {
    panic!("an expression of the benchmark's own: {error}")
}
