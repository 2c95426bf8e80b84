//! The seven fields of a cron expression.

use std::fmt;

/// A field of a cron expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Field {
    /// 0 to 59; only in expressions of six or seven fields, else 0.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31, `L`, `LW`, `15W`.
    DayOfMonth,
    /// 1 to 12, or `JAN` to `DEC`.
    Month,
    /// 0 to 7 with Sunday as 0 and as 7, or `SUN` to `SAT`, `5L`, `FRI#2`.
    DayOfWeek,
    /// 1970 to 2100; only in expressions of seven fields, else every year.
    Year,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    pub(super) const ALL: [Field; 7] = [
        Field::Second,
        Field::Minute,
        Field::Hour,
        Field::DayOfMonth,
        Field::Month,
        Field::DayOfWeek,
        Field::Year,
    ];

    /// The smallest number the field takes.
    pub(super) const fn min(self) -> u16 {
        match self {
            Field::DayOfMonth | Field::Month => 1,
            Field::Year => 1970,
            _ => 0,
        }
    }

    /// The largest number with a meaning of its own: 6 for the weekday, where 7 is 0 again.
    pub(super) const fn max(self) -> u16 {
        match self {
            Field::Second | Field::Minute => 59,
            Field::Hour => 23,
            Field::DayOfMonth => 31,
            Field::Month => 12,
            Field::DayOfWeek => 6,
            Field::Year => 2100,
        }
    }

    /// The largest number that may be written.
    pub(super) const fn max_written(self) -> u16 {
        match self {
            Field::DayOfWeek => 7,
            other => other.max(),
        }
    }

    /// How many different values there are, and so the largest step that can mean anything.
    pub(super) const fn size(self) -> u16 {
        self.max() - self.min() + 1
    }

    /// The number a three-letter name of any case stands for.
    pub(super) fn named(self, name: &str) -> Option<u16> {
        let (names, first): (&[&str], u16) = match self {
            Field::Month => (&MONTHS, 1),
            Field::DayOfWeek => (&WEEKDAYS, 0),
            _ => return None,
        };
        (first..).zip(names).find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(n, _)| n)
    }

    /// What may stand in the field, for an error.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Field::Second | Field::Minute => "a number from 0 to 59",
            Field::Hour => "a number from 0 to 23",
            Field::DayOfMonth => "a number from 1 to 31, `L`, `LW` or a number with `W`",
            Field::Month => "a number from 1 to 12 or a name from JAN to DEC",
            Field::DayOfWeek => "a number from 0 to 7 or a name from SUN to SAT",
            Field::Year => "a number from 1970 to 2100",
        }
    }
}

/// The name as it stands in errors: `minute`, `day-of-month`.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Field::Second => "second",
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day-of-month",
            Field::Month => "month",
            Field::DayOfWeek => "day-of-week",
            Field::Year => "year",
        })
    }
}
