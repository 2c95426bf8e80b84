//! From the wall clock to instants: what a schedule does when the clocks change.

use super::civil::{ALL_KINDS_OF_YEAR, FieldSets};
use super::zone::{Stretch, Zone};

/// What a cron schedule does with the times that the clocks leave out when they go forward.
///
/// Without a choice, a fixed-time job (neither its minute nor its hour field begins with `*`) uses
/// `After` where the gap is shorter than three hours and `Skip` where it is longer (a clock that is
/// set rather than turned, a missing day); any other job uses `Skip`. This is Vixie cron's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnGap {
    /// Nothing runs for a time that does not exist.
    Skip,
    /// One tick at the first instant after the gap stands for all times in it, however long it is.
    After,
}

/// What a cron schedule does with the times that the clocks show twice when they go back.
///
/// Without a choice, a fixed-time job (neither its minute nor its hour field begins with `*`) uses
/// `First`, any other job `Both`. This is Vixie cron's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnRepeat {
    /// Only the first time the clocks show it.
    First,
    /// Only the second time the clocks show it.
    Second,
    /// Each time the clocks show it.
    Both,
}

/// The rules that hold for one schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// A gap below so many seconds has a tick at its end.
    pub(super) gap_below: i64,
    pub(super) on_repeat: OnRepeat,
}

const THREE_HOURS: i64 = 3 * 3_600;

impl Rules {
    pub(super) fn new(fixed_time: bool, gap: Option<OnGap>, repeat: Option<OnRepeat>) -> Self {
        let gap_below = match (gap, fixed_time) {
            (Some(OnGap::After), _) => i64::MAX,
            (None, true) => THREE_HOURS,
            (Some(OnGap::Skip), _) | (None, false) => 0,
        };
        let default = if fixed_time { OnRepeat::First } else { OnRepeat::Both };
        Self { gap_below, on_repeat: repeat.unwrap_or(default) }
    }
}

/// Two offsets of a zone never differ by more (`jiff` allows 25:59:59 either way).
const FURTHEST: i64 = 52 * 3_600;
const YEARS: i64 = (ALL_KINDS_OF_YEAR + 1) * 366 * 86_400;

/// The first tick at or after `from`, in seconds since 1970-01-01T00:00:00Z.
pub(super) fn at_or_after(sets: &FieldSets, zone: &Zone, rules: Rules, from: i64) -> Option<i64> {
    // All that may be looked at: what has not fired while every kind of year passed under a zone's
    // last rule never will. Years written out end the search by themselves.
    let give_up = match sets.years {
        None => from.max(zone.regular_from()) + YEARS,
        Some(_) => i64::MAX,
    };
    let mut from = from;
    // The sets match at the second of these times and nowhere between the two.
    let mut known = (i64::MAX, i64::MIN);
    while from < give_up {
        let stretch = zone.at(from);
        if from == stretch.start && fires_after_gap(sets, rules, &stretch) {
            return Some(from);
        }
        let open = first_open(rules, &stretch, from);
        if !(known.0..=known.1).contains(&open) {
            let Some(wall) = sets.at_or_after(open) else {
                // The clock may yet go back to times that match.
                if stretch.end > from + FURTHEST {
                    return None;
                }
                from = stretch.end;
                continue;
            };
            known = (open, wall);
        }
        let wall = known.1;
        let tick = wall - stretch.offset;
        if tick < stretch.end && wall < last_open(rules, &stretch) {
            return Some(tick);
        }
        // The wall clock shows no match before `wall`, whatever the offset by then, unless it goes
        // back to times before `from`, which it can only do at once.
        from = match stretch.end > from + FURTHEST {
            true => stretch.end.max(tick - FURTHEST),
            false => stretch.end,
        };
    }
    None
}

/// Whether a time that `stretch` left out at its start fires at its start.
pub(super) fn fires_after_gap(sets: &FieldSets, rules: Rules, stretch: &Stretch) -> bool {
    if stretch.shift <= 0 || stretch.shift >= rules.gap_below {
        return false;
    }
    let after = stretch.start + stretch.offset;
    sets.at_or_after(after - stretch.shift).is_some_and(|wall| wall < after)
}

/// The wall-clock time from which times count, for instants from `from` on.
fn first_open(rules: Rules, stretch: &Stretch, from: i64) -> i64 {
    let wall = from + stretch.offset;
    if rules.on_repeat == OnRepeat::First && stretch.shift < 0 {
        return wall.max(stretch.start + stretch.offset - stretch.shift);
    }
    wall
}

/// The wall-clock time before which times count.
fn last_open(rules: Rules, stretch: &Stretch) -> i64 {
    if rules.on_repeat == OnRepeat::Second && stretch.next_shift < 0 {
        return stretch.end + stretch.offset + stretch.next_shift;
    }
    i64::MAX
}
