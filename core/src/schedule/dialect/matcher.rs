//! The `cron` crate expands each field into its values; they are kept as bits.
//!
//! The crate never sees what a user wrote: the text given to it is made from items that have been
//! checked. Of its own form only the values are kept. Its trees take 0.5 to 2.5 kB an expression,
//! it ends with the year 2100, and the either-day rule, `L`, `W` and `#` would need several of them.
//!
//! An expression of bare values has nothing to expand, and is not given to it: reading its text once
//! more is two thirds of the cost of all the rest.

use std::borrow::Cow;
use std::str::FromStr as _;

use cron::TimeUnitSpec;

use super::item::write_number;
use super::{Item, Items};
use crate::schedule::civil::FieldSets;
use crate::schedule::days::DaySet;
use crate::schedule::error::{ScheduleError, ScheduleErrorKind as Kind};
use crate::schedule::field::Field;

/// The values of each field; `canonical` is the text of the items.
pub(super) fn sets(items: &Items, canonical: &str) -> Result<FieldSets, ScheduleError> {
    let expanded = match Field::ALL.iter().all(|&field| is_bare(items, field)) {
        true => None,
        false => Some(expand(&text(items, canonical))?),
    };
    Ok(from(items, expanded.as_ref()))
}

/// The values as the crate has expanded them; `None`: all are bare.
fn from(items: &Items, expanded: Option<&cron::Schedule>) -> FieldSets {
    // A `*` is not asked for: the crate would go through all values it has.
    let values = |field: Field, spec: &dyn Fn(&cron::Schedule) -> u64| match expanded {
        _ if items.is_any(field) => all(field),
        Some(expanded) => spec(expanded),
        None => bare(&items[field]),
    };
    FieldSets {
        seconds: values(Field::Second, &|all| bits(all.seconds(), 0)),
        minutes: values(Field::Minute, &|all| bits(all.minutes(), 0)),
        hours: half(values(Field::Hour, &|all| bits(all.hours(), 0))),
        months: quarter(values(Field::Month, &|all| bits(all.months(), 0))),
        days: days(items, expanded),
        years: expanded.filter(|_| !items.is_any(Field::Year)).map(|expanded| {
            let mut years = [0; 3];
            for year in expanded.years().iter() {
                let bit = year.saturating_sub(1970);
                years[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            Box::new(years)
        }),
    }
}

fn expand(text: &str) -> Result<cron::Schedule, ScheduleError> {
    cron::Schedule::from_str(text).map_err(|_| {
        ScheduleError::new(Kind::Internal, "a text the field matcher takes").found(text)
    })
}

/// Whether a field is any value, or has bare values alone and what the crate does not know.
fn is_bare(items: &Items, field: Field) -> bool {
    let bare = |item: &Item| match *item {
        Item::Range { from, to, .. } => from == to,
        Item::All { .. } => false,
        _ => true,
    };
    // The years are more than there are bits.
    items.is_any(field) || (field != Field::Year && items[field].iter().all(bare))
}

/// The bare values of a field as bits.
fn bare(items: &[Item]) -> u64 {
    items.iter().fold(0, |bits, item| match *item {
        Item::Range { from, .. } => bits | 1 << from,
        _ => bits,
    })
}

fn days(items: &Items, expanded: Option<&cron::Schedule>) -> DaySet {
    let (of_month, of_week) = (&items[Field::DayOfMonth], &items[Field::DayOfWeek]);
    let mut set = DaySet {
        any_day: items.is_any(Field::DayOfMonth),
        any_weekday: items.is_any(Field::DayOfWeek),
        ..DaySet::default()
    };
    if of_month.iter().any(is_plain) && !set.any_day {
        let days = |all: &cron::Schedule| bits(all.days_of_month(), 0);
        set.days = half(expanded.map_or_else(|| bare(of_month), days));
    }
    if of_week.iter().any(is_plain) && !set.any_weekday {
        // The crate counts Sunday as 1.
        let weekdays = |all: &cron::Schedule| bits(all.days_of_week(), 1);
        set.nth = [eighth(expanded.map_or_else(|| bare(of_week), weekdays)); 5];
    }
    for item in of_month.iter().chain(of_week) {
        match *item {
            Item::LastDay => set.last_day = true,
            Item::LastWorkday => set.last_workday = true,
            Item::NearestWorkday(day) => set.nearest |= 1 << day,
            Item::LastWeekday(weekday) => set.last_weekdays |= 1 << weekday,
            Item::NthWeekday { weekday, turn } => set.nth[usize::from(turn) - 1] |= 1 << weekday,
            Item::All { .. } | Item::Range { .. } => {}
        }
    }
    set
}

/// Six fields or seven as the crate reads them.
fn text<'a>(items: &Items, canonical: &'a str) -> Cow<'a, str> {
    if Field::ALL.iter().all(|&field| reads_alike(items, field)) {
        return Cow::Borrowed(canonical);
    }
    let mut text = String::with_capacity(canonical.len() + 16);
    for (field, word) in Field::ALL.into_iter().zip(canonical.split(' ')) {
        if reads_alike(items, field) {
            text.push_str(word);
        } else if items.is_any(field) || !items[field].iter().any(is_plain) {
            text.push('*');
        } else {
            values(&mut text, field, &items[field]);
        }
        text.push(' ');
    }
    text.truncate(text.trim_end().len());
    Cow::Owned(text)
}

/// More items than this are given to the crate as the values they have, which are fewer.
const MANY: usize = 16;

/// Whether the crate reads the canonical text of a field as it is meant.
fn reads_alike(items: &Items, field: Field) -> bool {
    match &items[field] {
        [Item::All { step: 1 }] => true,
        // Its weekdays are numbered from 1.
        _ if field == Field::DayOfWeek => false,
        // It takes no step that leaves the field at once.
        items => {
            let step = |item: &Item| *item != Item::All { step: field.size() };
            items.len() <= MANY && items.iter().all(|item| is_plain(item) && step(item))
        }
    }
}

/// The values of a field in as few ranges as can be, weekdays with Sunday as 1 as the crate has it.
fn values(text: &mut String, field: Field, items: &[Item]) {
    let first = field.min();
    // All values of a field are within 192 of its first.
    let mut set = [0_u64; 3];
    for item in items {
        let (from, to, step) = match *item {
            Item::All { step } => (first, field.max(), step),
            // Only weekdays wrap.
            Item::Range { from, to, step } if to < from => (from, to + 7, step),
            Item::Range { from, to, step } => (from, to, step),
            _ => continue,
        };
        for value in (from..=to).step_by(usize::from(step)) {
            let bit = usize::from((value - first) % field.size());
            set[bit / 64] |= 1 << (bit % 64);
        }
    }
    let shown = if field == Field::DayOfWeek { 1 } else { first };
    let has = |bit: u16| set[usize::from(bit / 64)] >> (bit % 64) & 1 == 1;
    let mut bit = 0;
    while bit < field.size() {
        let from = bit;
        while bit < field.size() && has(bit) {
            bit += 1;
        }
        if bit > from {
            write_number(text, from + shown);
            if bit - from > 1 {
                text.push('-');
                write_number(text, bit - 1 + shown);
            }
            text.push(',');
        }
        bit += 1;
    }
    text.pop();
}

fn is_plain(item: &Item) -> bool {
    matches!(item, Item::All { .. } | Item::Range { .. })
}

fn all(field: Field) -> u64 {
    (1 << (field.max() + 1)) - (1 << field.min())
}

/// The values as bits, each less by `shift`. All are below 64 but the years.
fn bits(spec: &impl TimeUnitSpec, shift: u32) -> u64 {
    spec.iter().fold(0, |bits, value| bits | 1 << (value - shift))
}

#[allow(clippy::cast_possible_truncation)] // hours and days: below 32
const fn half(bits: u64) -> u32 {
    bits as u32
}

#[allow(clippy::cast_possible_truncation)] // months: below 16
const fn quarter(bits: u64) -> u16 {
    bits as u16
}

#[allow(clippy::cast_possible_truncation)] // weekdays: below 8
const fn eighth(bits: u64) -> u8 {
    bits as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::dialect::canonical_items;

    #[test]
    fn bare_values_are_what_the_crate_makes_of_them() {
        let texts = [
            "0 30 2 * * *",
            "59 0,59 23 1,15,31 2,12 *",
            "0 0 0 * * 0,6",
            "0 0 9 15W,3 * 1",
            "0 0 0 L 4 5L",
            "7 7 7 7 7 3#2,5",
            "* * * * * *",
        ];
        for text in texts {
            let items = canonical_items(text);
            assert_eq!(items.canonical(), text);
            assert!(Field::ALL.iter().all(|&field| is_bare(&items, field)), "{text}");
            let expanded = expand(&self::text(&items, text)).unwrap();
            assert_eq!(from(&items, None), from(&items, Some(&expanded)), "{text}");
        }
        for text in ["0 0 0 * * 1-5", "*/5 * * * * *", "0 0 0 1 1 * 2030", "0 1-2,7 0 * * *"] {
            let items = canonical_items(text);
            assert!(!Field::ALL.iter().all(|&field| is_bare(&items, field)), "{text}");
        }
    }
}
