//! The `cron` crate expands each field into its values; they are kept as bits.
//!
//! The crate never sees what a user wrote: the text given to it is made from items that have been
//! checked. Of its own form only the values are kept. Its trees take 0.5 to 2.5 kB an expression,
//! it ends with the year 2100, and the either-day rule, `L`, `W` and `#` would need several of them.

use std::fmt::Write as _;
use std::str::FromStr as _;

use cron::TimeUnitSpec;

use super::{Item, Items, is_any};
use crate::schedule::civil::FieldSets;
use crate::schedule::days::DaySet;
use crate::schedule::error::{ScheduleError, ScheduleErrorKind as Kind};
use crate::schedule::field::Field;

pub(super) fn sets(items: &Items) -> Result<FieldSets, ScheduleError> {
    let text = text(items);
    let expanded = cron::Schedule::from_str(&text).map_err(|_| {
        ScheduleError::new(Kind::Internal, "a text the field matcher takes").found(&text)
    })?;
    let any = |field: Field| is_any(&items[field as usize]);
    let values =
        |field: Field, spec: &dyn Fn() -> u64| if any(field) { all(field) } else { spec() };
    Ok(FieldSets {
        seconds: values(Field::Second, &|| bits(expanded.seconds(), 0)),
        minutes: values(Field::Minute, &|| bits(expanded.minutes(), 0)),
        hours: half(values(Field::Hour, &|| bits(expanded.hours(), 0))),
        months: quarter(values(Field::Month, &|| bits(expanded.months(), 0))),
        days: days(items, &expanded),
        years: (!any(Field::Year)).then(|| {
            let mut years = [0; 3];
            for year in expanded.years().iter() {
                let bit = year.saturating_sub(1970);
                years[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            Box::new(years)
        }),
    })
}

fn days(items: &Items, expanded: &cron::Schedule) -> DaySet {
    let (of_month, of_week) = (
        &items[Field::DayOfMonth as usize],
        &items[Field::DayOfWeek as usize],
    );
    let mut set = DaySet {
        any_day: is_any(of_month),
        any_weekday: is_any(of_week),
        ..Default::default()
    };
    if of_month.iter().any(is_plain) && !set.any_day {
        set.days = half(bits(expanded.days_of_month(), 0));
    }
    if of_week.iter().any(is_plain) && !set.any_weekday {
        // The crate counts Sunday as 1.
        set.nth = [eighth(bits(expanded.days_of_week(), 1)); 5];
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
fn text(items: &Items) -> String {
    let mut text = String::with_capacity(48);
    for field in Field::ALL {
        let items = &items[field as usize];
        if is_any(items) || !items.iter().any(is_plain) {
            text.push_str(if field == Field::Year { "" } else { "* " });
            continue;
        }
        for item in items.iter().filter(|item| is_plain(item)) {
            // A String takes everything.
            let _ = match (field, *item) {
                (Field::DayOfWeek, item) => weekdays(&mut text, item),
                // The crate takes no step that leaves the field at once.
                (_, Item::All { step }) if step == field.size() => {
                    write!(text, "{},", field.min())
                }
                (_, item) => write!(text, "{item},"),
            };
        }
        text.pop();
        text.push(' ');
    }
    text.truncate(text.trim_end().len());
    text
}

/// Weekdays one by one, Sunday as 1, since the crate's ranges do not wrap.
fn weekdays(text: &mut String, item: Item) -> std::fmt::Result {
    let (from, to, step) = match item {
        Item::All { step } => (0, 6, step),
        Item::Range { from, to, step } => (from, if to < from { to + 7 } else { to }, step),
        _ => return Ok(()),
    };
    (from..=to)
        .step_by(usize::from(step))
        .try_for_each(|day| write!(text, "{},", day % 7 + 1))
}

fn is_plain(item: &Item) -> bool {
    matches!(item, Item::All { .. } | Item::Range { .. })
}

fn all(field: Field) -> u64 {
    (1 << (field.max() + 1)) - (1 << field.min())
}

/// The values as bits, each less by `shift`. All are below 64 but the years.
fn bits(spec: &impl TimeUnitSpec, shift: u32) -> u64 {
    spec.iter()
        .fold(0, |bits, value| bits | 1 << (value - shift))
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
