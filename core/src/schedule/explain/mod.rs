//! The next ticks with what changes of the clocks do to them.

mod tick;

use std::collections::VecDeque;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::cron::Cron;
use super::shift::{self, OnRepeat};
use super::zone::Stretch;
pub use tick::{Effect, ExplainedTick};

/// How far to look for dropped times when no tick comes any more.
const TWO_YEARS: i64 = 2 * 366 * 86_400;

/// The next `n` ticks of `next` and the dropped times between them.
pub(super) fn ticks(
    next: impl Fn(Timestamp) -> Option<Timestamp>,
    cron: Option<&Cron>,
    from: Timestamp,
    n: usize,
) -> impl Iterator<Item = ExplainedTick> {
    let mut t = from;
    let mut left = n;
    let mut queue = VecDeque::new();
    std::iter::from_fn(move || {
        while queue.is_empty() && left > 0 {
            // A custom schedule that stands still has no next tick.
            let tick = next(t).filter(|&tick| tick > t);
            if let Some(cron) = cron {
                let until =
                    tick.map_or(t.as_second().saturating_add(TWO_YEARS), Timestamp::as_second);
                dropped(cron, t.as_second(), until, &mut queue);
            }
            left = if tick.is_some() { left - 1 } else { 0 };
            if let Some(tick) = tick {
                queue.push_back(explained(cron, tick));
                t = tick;
            }
        }
        queue.pop_front()
    })
}

fn explained(cron: Option<&Cron>, tick: Timestamp) -> ExplainedTick {
    let Some((cron, zone)) = cron.and_then(|cron| Some((cron, cron.zone.as_ref()?))) else {
        return entry(tick, 0, Effect::None);
    };
    let t = tick.as_second();
    let stretch = zone.at(t);
    let wall = t + stretch.offset;
    let before = stretch.start + stretch.offset - stretch.shift;
    let again = stretch.end.saturating_add(stretch.offset + stretch.next_shift);
    let effect = if t == stretch.start && shift::fires_after_gap(&cron.sets, cron.rules(), &stretch)
    {
        match span(cron, before, before + stretch.shift) {
            Some((first, last, count)) => Effect::Moved { first, last, count },
            None => Effect::None,
        }
    } else if cron.rules().on_repeat != OnRepeat::Both {
        Effect::None
    } else if stretch.shift < 0 && wall < before {
        Effect::SecondOfTwo
    } else if stretch.next_shift < 0 && wall >= again {
        Effect::FirstOfTwo
    } else {
        Effect::None
    };
    entry(tick, stretch.offset, effect)
}

/// Times without a tick later than `after` and not later than `through`.
fn dropped(cron: &Cron, after: i64, through: i64, queue: &mut VecDeque<ExplainedTick>) {
    let Some(zone) = &cron.zone else { return };
    let rules = cron.rules();
    let mut push = |stretch: &Stretch, from: i64, to: i64, gap: bool| {
        let Some((first, last, count)) = span(cron, from, to) else {
            return;
        };
        let effect = match gap {
            true => Effect::LeftOut { first, last, count },
            false => Effect::NotRepeated { first, last, count },
        };
        let instant = match (gap, cron.sets.at_or_after(from)) {
            (false, Some(wall)) => wall - stretch.offset,
            _ => stretch.start,
        };
        if let Ok(instant) = Timestamp::from_second(instant) {
            queue.push_back(entry(instant, stretch.offset, effect));
        }
    };
    let mut stretch = zone.at(after);
    loop {
        // What is left of this stretch: its repeated hour at the start, then that at its end.
        let start = stretch.start.max(after + 1);
        if stretch.shift > 0 && stretch.start > after {
            let wall = stretch.start + stretch.offset;
            if !shift::fires_after_gap(&cron.sets, rules, &stretch) {
                push(&stretch, wall - stretch.shift, wall, true);
            }
        }
        if stretch.shift < 0 && rules.on_repeat == OnRepeat::First {
            let wall = stretch.start + stretch.offset;
            push(
                &stretch,
                start + stretch.offset,
                (wall - stretch.shift).min(through + stretch.offset),
                false,
            );
        }
        if stretch.next_shift < 0 && rules.on_repeat == OnRepeat::Second {
            let wall = stretch.end + stretch.offset;
            let from = (wall + stretch.next_shift).max(start + stretch.offset);
            push(&stretch, from, wall.min(through.saturating_add(stretch.offset)), false);
        }
        if stretch.end > through {
            return;
        }
        stretch = zone.at(stretch.end);
    }
}

/// The first and the last matching time from `from` up to but without `to`, and how many there are.
fn span(cron: &Cron, from: i64, to: i64) -> Option<(DateTime, DateTime, u64)> {
    let within = |wall: i64| cron.sets.at_or_after(wall).filter(|&wall| wall < to);
    let first = within(from)?;
    let (mut last, mut count) = (first, 1);
    while let Some(next) = within(last + 1) {
        last = next;
        count += 1;
    }
    Some((local(first), local(last), count))
}

fn entry(instant: Timestamp, offset: i64, effect: Effect) -> ExplainedTick {
    // A zone's offsets are ones that `jiff` can hold.
    let offset = i32::try_from(offset).ok().and_then(|offset| Offset::from_seconds(offset).ok());
    let offset = offset.unwrap_or(Offset::UTC);
    ExplainedTick { instant, local: offset.to_datetime(instant), offset, effect }
}

/// Seconds since 1970 on the wall, as a date and time; those beyond the last instant are the last.
fn local(wall: i64) -> DateTime {
    Offset::UTC.to_datetime(Timestamp::from_second(wall).unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use crate::{OnGap, OnRepeat, Schedule};

    fn lines(schedule: &Schedule, from: &str, n: usize) -> Vec<String> {
        let ticks = schedule.explain(from.parse().unwrap(), n);
        ticks.map(|tick| tick.to_string()).collect()
    }

    fn berlin(expression: &str) -> Schedule {
        Schedule::cron(expression).unwrap().time_zone("Europe/Berlin").unwrap()
    }

    #[test]
    fn a_fixed_time_is_moved_out_of_the_gap_and_runs_once_in_the_repeated_hour() {
        let spring = lines(&berlin("30 2 * * *"), "2027-03-27T12:00:00Z", 2);
        assert_eq!(
            spring,
            [
                "2027-03-28T01:00:00Z  2027-03-28T03:00:00+02:00  moved: the clocks leave out 02:30:00",
                "2027-03-29T00:30:00Z  2027-03-29T02:30:00+02:00",
            ]
        );
        let autumn = lines(&berlin("30 2 * * *"), "2027-10-30T12:00:00Z", 2);
        assert_eq!(
            autumn,
            [
                "2027-10-31T00:30:00Z  2027-10-31T02:30:00+02:00",
                "-                     2027-10-31T02:30:00+01:00  dropped: runs the other time when the clocks show twice 02:30:00",
                "2027-11-01T01:30:00Z  2027-11-01T02:30:00+01:00",
            ]
        );
    }

    #[test]
    fn a_job_by_the_wall_clock_loses_the_gap_and_runs_in_both_passes() {
        let spring = lines(&berlin("*/30 * * * *"), "2027-03-28T00:20:00Z", 2);
        assert_eq!(
            spring,
            [
                "2027-03-28T00:30:00Z  2027-03-28T01:30:00+01:00",
                "-                     2027-03-28T03:00:00+02:00  dropped: the clocks leave out 2 times from 02:00:00 to 02:30:00",
                "2027-03-28T01:00:00Z  2027-03-28T03:00:00+02:00",
            ]
        );
        let autumn = lines(&berlin("*/30 * * * *"), "2027-10-30T23:40:00Z", 5);
        assert_eq!(
            autumn,
            [
                "2027-10-31T00:00:00Z  2027-10-31T02:00:00+02:00  doubled: the first of two at this local time",
                "2027-10-31T00:30:00Z  2027-10-31T02:30:00+02:00  doubled: the first of two at this local time",
                "2027-10-31T01:00:00Z  2027-10-31T02:00:00+01:00  doubled: the second of two at this local time",
                "2027-10-31T01:30:00Z  2027-10-31T02:30:00+01:00  doubled: the second of two at this local time",
                "2027-10-31T02:00:00Z  2027-10-31T03:00:00+01:00",
            ]
        );
    }

    #[test]
    fn choices_are_explained_as_they_are() {
        let skipped = lines(&berlin("30 2 * * *").on_gap(OnGap::Skip), "2027-03-27T12:00:00Z", 1);
        assert_eq!(
            skipped,
            [
                "-                     2027-03-28T03:00:00+02:00  dropped: the clocks leave out 02:30:00",
                "2027-03-29T00:30:00Z  2027-03-29T02:30:00+02:00",
            ]
        );
        let second = berlin("30 2 * * *").on_repeat(OnRepeat::Second);
        assert_eq!(
            lines(&second, "2027-10-30T12:00:00Z", 1),
            [
                "-                     2027-10-31T02:30:00+02:00  dropped: runs the other time when the clocks show twice 02:30:00",
                "2027-10-31T01:30:00Z  2027-10-31T02:30:00+01:00",
            ]
        );
    }

    #[test]
    fn a_schedule_that_a_gap_leaves_without_a_tick_says_so() {
        let never = Schedule::cron("TZ=Europe/Berlin 0 * 2 28 3 ? 2027").unwrap();
        assert_eq!(
            lines(&never, "2027-01-01T00:00:00Z", 3),
            [
                "-                     2027-03-28T03:00:00+02:00  dropped: the clocks leave out 60 times from 02:00:00 to 02:59:00"
            ]
        );
    }
}
