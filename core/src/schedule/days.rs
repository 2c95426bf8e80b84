//! Which days of a month match the two day fields.

use super::date::{days, month_len, weekday};

/// The day-of-month and day-of-week fields. Days are bits 1 to 31, weekdays bits 0 (Sunday) to 6.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DaySet {
    /// Plain days of the month.
    pub(super) days: u32,
    /// `15W`: the working day nearest to it, within the month.
    pub(super) nearest: u32,
    /// Weekdays by their turn in the month: all five alike for a plain weekday, one for `FRI#2`.
    pub(super) nth: [u8; 5],
    /// `5L`: the last such weekday of the month.
    pub(super) last_weekdays: u8,
    /// `L`.
    pub(super) last_day: bool,
    /// `LW`: the last working day, Monday to Friday.
    pub(super) last_workday: bool,
    /// The day-of-month field is `*`, `?` or `*/1`.
    pub(super) any_day: bool,
    /// The day-of-week field is `*`, `?` or `*/1`.
    pub(super) any_weekday: bool,
}

impl DaySet {
    /// The matching days of a month. Two restricted fields match where either does (Vixie cron,
    /// robfig), one alone decides by itself.
    pub(super) fn in_month(&self, year: i64, month: u32) -> u32 {
        let length = month_len(year, month);
        let all = low((1_u64 << (length + 1)) - 2);
        match (self.any_day, self.any_weekday) {
            (true, true) => all,
            (false, true) if !self.needs_weekday() => all & self.by_day(length, 0),
            (any_day, any_weekday) => {
                let first = weekday(days(year, month, 1));
                let by_day = if any_day { 0 } else { self.by_day(length, first) };
                let by_weekday = if any_weekday { 0 } else { self.by_weekday(length, first) };
                all & (by_day | by_weekday)
            }
        }
    }

    fn needs_weekday(&self) -> bool {
        self.nearest != 0 || self.last_workday
    }

    /// `first` is the weekday of the first of the month.
    fn by_day(&self, length: u32, first: u32) -> u32 {
        let mut set = self.days;
        if self.last_day {
            set |= 1 << length;
        }
        if self.last_workday {
            set |= 1 << nearest_workday(length, length, first);
        }
        let mut nearest = self.nearest;
        while nearest != 0 {
            let day = nearest.trailing_zeros();
            nearest &= nearest - 1;
            // `31W` in a month of 30 days names no day (Quartz).
            if day <= length {
                set |= 1 << nearest_workday(day, length, first);
            }
        }
        set
    }

    fn by_weekday(&self, length: u32, first: u32) -> u32 {
        let mut set = 0_u64;
        for (turn, &weekdays) in self.nth.iter().enumerate() {
            set |= rotated(weekdays, first) << (7 * turn + 1);
        }
        if self.last_weekdays != 0 {
            let start = length - 6;
            let weekday = (first + start - 1) % 7;
            set |= rotated(self.last_weekdays, weekday) << start;
        }
        low(set)
    }
}

/// The weekdays as seen from a day that is `first`: bit 0 is that day itself.
fn rotated(weekdays: u8, first: u32) -> u64 {
    let twice = u64::from(weekdays) | u64::from(weekdays) << 7;
    twice >> first & 0x7f
}

/// The days fit the low half.
#[allow(clippy::cast_possible_truncation)]
const fn low(set: u64) -> u32 {
    set as u32
}

/// Quartz: a Saturday goes to the Friday before, a Sunday to the Monday after, neither out of the
/// month.
fn nearest_workday(day: u32, length: u32, first: u32) -> u32 {
    match (first + day - 1) % 7 {
        6 if day == 1 => 3,
        6 => day - 1,
        0 if day == length => day - 2,
        0 => day + 1,
        _ => day,
    }
}
