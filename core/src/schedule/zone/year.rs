//! Years that are alike: a zone that follows its last rule does the same in all of them.

use std::sync::LazyLock;

use crate::schedule::date::{days, month_len, weekday};

/// Years of the table by which every zone follows its last rule; they hold each kind of year.
pub(super) const LIKE: std::ops::Range<i64> = 2101..2129;

pub(super) const DAY: i64 = 86_400;

/// The first second of a year in UTC.
pub(super) fn year_start(year: i64) -> i64 {
    days(year, 1, 1) * DAY
}

/// A year of the table with as many days that begins on the same weekday.
pub(super) fn like(year: i64) -> i64 {
    static LIKE_YEARS: LazyLock<[[i64; 7]; 2]> = LazyLock::new(|| {
        let mut years = [[0; 7]; 2];
        for year in LIKE {
            years[kind(year).0][kind(year).1] = year;
        }
        years
    });
    let (leap, weekday) = kind(year);
    LIKE_YEARS[leap][weekday]
}

fn kind(year: i64) -> (usize, usize) {
    let leap = usize::from(month_len(year, 2) == 29);
    (leap, weekday(days(year, 1, 1)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_year_of_every_kind_in_the_table() {
        for year in 2101..2600 {
            assert!(LIKE.contains(&like(year)) && kind(like(year)) == kind(year), "{year}");
        }
    }
}
