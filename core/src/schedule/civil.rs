//! When a set of fields matches next, on a clock without a zone.

use super::date::{self, Date};
use super::days::DaySet;

const DAY: i64 = 86_400;
/// Every kind of year (leap or not, by weekday of its first day) occurs within 40 years, also round
/// a century without its leap day: what has not matched by then never will.
pub(super) const ALL_KINDS_OF_YEAR: i64 = 40;
/// The last year `jiff` can name.
const LAST_YEAR: i64 = 9999;

/// The values of each field, as bits. Times are seconds since 1970-01-01T00:00:00 on the wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldSets {
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    pub(super) hours: u32,
    pub(super) months: u16,
    pub(super) days: DaySet,
    /// `None` for every year; bit 0 of the first word is 1970.
    pub(super) years: Option<Box<[u64; 3]>>,
}

impl FieldSets {
    /// The first matching second at or after `from`, never before 1970.
    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        let from = from.max(0);
        let (day, second) = (from.div_euclid(DAY), from.rem_euclid(DAY));
        let date = Date::from_days(day);
        let mut days = 0;
        if self.has_year(date.year) && self.months >> date.month & 1 == 1 {
            days = self.days.in_month(date.year, date.month) >> date.day << date.day;
            if days >> date.day & 1 == 1 {
                if let Some(time) = self.time_at_or_after(second) {
                    return Some(day * DAY + time);
                }
                days &= days - 1;
            }
        }
        let (year, month, day) = self.first_day(date.year, date.month, days)?;
        Some(date::days(year, month, day) * DAY + self.first_time())
    }

    /// The first day of `days`, those still open in the given month, or of a later month.
    fn first_day(&self, year: i64, month: u32, mut days: u32) -> Option<(i64, u32, u32)> {
        let (mut year, mut month) = (year, month);
        let end = LAST_YEAR.min(year + ALL_KINDS_OF_YEAR);
        while days == 0 {
            match self.months.checked_shr(month + 1).unwrap_or(0) {
                0 => {
                    year = self.year_after(year, end)?;
                    month = self.months.trailing_zeros();
                }
                later => month += 1 + later.trailing_zeros(),
            }
            days = if self.has_year(year) { self.days.in_month(year, month) } else { 0 };
        }
        Some((year, month, days.trailing_zeros()))
    }

    fn has_year(&self, year: i64) -> bool {
        match (&self.years, usize::try_from(year - 1970)) {
            (None, _) => true,
            (Some(years), Ok(bit)) if bit < 192 => years[bit / 64] >> (bit % 64) & 1 == 1,
            _ => false,
        }
    }

    fn year_after(&self, year: i64, end: i64) -> Option<i64> {
        match self.years {
            None => (year < end).then_some(year + 1),
            Some(_) => (year + 1..=2100).find(|&year| self.has_year(year)),
        }
    }

    fn first_time(&self) -> i64 {
        let (hour, minute) = (self.hours.trailing_zeros(), self.minutes.trailing_zeros());
        time(hour, minute, self.seconds.trailing_zeros())
    }

    /// The first matching second of a day at or after the given one.
    fn time_at_or_after(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = (from / 3_600, from / 60 % 60, from % 60);
        if u64::from(self.hours) >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1 {
                let left = self.seconds >> second;
                if left != 0 {
                    return Some(from + i64::from(left.trailing_zeros()));
                }
            }
            // A shift by 60 at most.
            let left = self.minutes >> (minute + 1);
            if left != 0 {
                let minute = minute + 1 + i64::from(left.trailing_zeros());
                return Some(hour * 3_600 + minute * 60 + i64::from(self.seconds.trailing_zeros()));
            }
        }
        let left = u64::from(self.hours) >> (hour + 1);
        if left == 0 {
            return None;
        }
        let hour = hour + 1 + i64::from(left.trailing_zeros());
        let (minute, second) = (self.minutes.trailing_zeros(), self.seconds.trailing_zeros());
        Some(hour * 3_600 + i64::from(minute) * 60 + i64::from(second))
    }
}

fn time(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3_600 + minute * 60 + second)
}
