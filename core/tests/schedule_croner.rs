//! Random expressions in UTC, tick by tick beside croner, which has the same either-day rule.
//!
//! `PROPTEST_CASES` says how many.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test file for library code

mod schedule_common;

use chrono::{DateTime, Utc};
use jiff::Timestamp;
use schedule_common::{Expression, Rng, cases};
use tidelock::{Schedule, ScheduleErrorKind};

const LAST: i64 = 4_102_444_800; // 2100-01-01

fn croner_next(cron: &croner::Cron, t: Timestamp) -> Option<Timestamp> {
    let t: DateTime<Utc> = DateTime::from_timestamp(t.as_second(), 0).unwrap();
    let next = cron.find_next_occurrence(&t, false).ok()?;
    Some(Timestamp::from_second(next.timestamp()).unwrap())
}

#[test]
fn ticks_in_utc_are_croners() {
    let (mut rng, _seed) = Rng::seeded();
    let (mut ticks, mut refused) = (0_u64, 0_u64);
    for _ in 0..cases(20_000) {
        let Expression { ours, croner } = Expression::random(&mut rng);
        let theirs = croner.parse::<croner::Cron>().unwrap_or_else(|e| panic!("`{croner}`: {e}"));
        let schedule = match Schedule::cron(&ours) {
            Ok(schedule) => schedule,
            Err(error) => {
                assert_eq!(error.kind(), ScheduleErrorKind::NeverFires, "{error}");
                let t = Timestamp::from_second(-1).unwrap();
                assert_eq!(croner_next(&theirs, t), None, "`{ours}` never fires");
                refused += 1;
                continue;
            }
        };
        let mut t = Timestamp::from_millisecond(rng.between(0, LAST * 1_000)).unwrap();
        for _ in 0..4 {
            let tick = schedule.next_after(t);
            // croner looks no further than it can within its limits.
            let expected = croner_next(&theirs, t);
            if expected.is_none() && tick.is_some_and(|tick| tick.as_second() >= LAST) {
                break;
            }
            assert_eq!(tick, expected, "`{ours}` (`{croner}`) after {t}");
            let Some(tick) = tick else { break };
            t = tick;
            ticks += 1;
        }
    }
    println!("{ticks} ticks compared, {refused} expressions refused by both");
}
