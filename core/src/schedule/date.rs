//! Days since 1970-01-01 and the dates they are, in plain integers.

/// A date of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: u32,
    pub(super) day: u32,
}

impl Date {
    /// Howard Hinnant's `civil_from_days`: no loop, no table.
    pub(super) fn from_days(days: i64) -> Self {
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let of_era = z.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = small(of_year - (153 * shifted + 2) / 5 + 1);
        let month = small(if shifted < 10 { shifted + 3 } else { shifted - 9 });
        Self { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
    }
}

/// Days from 1970-01-01 to the given date: Hinnant's `days_from_civil`.
pub(super) fn days(year: i64, month: u32, day: u32) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// How many days a month has.
pub(super) fn month_len(year: i64, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The weekday of a day since 1970-01-01, which was a Thursday: Sunday is 0.
pub(super) fn weekday(days: i64) -> u32 {
    small((days + 4).rem_euclid(7))
}

/// A number that the arithmetic around it keeps between 0 and 366.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
const fn small(value: i64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_our_range_agrees_with_jiff() {
        let mut date = jiff::civil::date(1969, 1, 1);
        let mut day = days(1969, 1, 1);
        assert_eq!(day, -365);
        while date.year() < 2410 {
            let (y, m, d) = (
                i64::from(date.year()),
                u32::try_from(date.month()).unwrap(),
                u32::try_from(date.day()).unwrap(),
            );
            assert_eq!(days(y, m, d), day);
            assert_eq!(Date::from_days(day), Date { year: y, month: m, day: d });
            assert_eq!(month_len(y, m), u32::try_from(date.days_in_month()).unwrap());
            assert_eq!(
                weekday(day),
                u32::try_from(date.weekday().to_sunday_zero_offset()).unwrap()
            );
            date = date.tomorrow().unwrap();
            day += 1;
        }
    }
}
