//! A field's list in words.

use crate::schedule::dialect::Item;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A field's list: `every 2nd hour`, `minutes 5, 10 and 20 through 30`.
pub(super) fn phrase(items: &[Item], unit: &str, name: impl Fn(u16) -> String) -> String {
    let of_time = matches!(unit, "second" | "minute" | "hour");
    let name = |value| {
        if unit == "day" { format!("the {}", name(value)) } else { name(value) }
    };
    let parts = items.iter().map(|item| match *item {
        Item::All { step: 1 } => format!("every {unit}"),
        Item::All { step } if of_time && unit != "hour" && 60 % step == 0 => {
            format!("every {step} {unit}s")
        }
        Item::All { step } => format!("every {} {unit}", ordinal(step)),
        Item::Range { from, to, .. } if from == to && of_time => format!("{unit} {}", name(from)),
        Item::Range { from, to, .. } if from == to => name(from),
        Item::Range { from, to, step: 1 } if of_time => {
            format!("{unit}s {} through {}", name(from), name(to))
        }
        Item::Range { from, to, step: 1 } => format!("{} through {}", name(from), name(to)),
        Item::Range { from, to, step } => {
            format!("every {} {unit} from {} through {}", ordinal(step), name(from), name(to))
        }
        Item::LastDay => "the last day".to_owned(),
        Item::LastWorkday => "the last working day (Monday to Friday)".to_owned(),
        Item::NearestWorkday(day) => {
            format!("the working day (Monday to Friday) nearest to {}", name(day))
        }
        Item::LastWeekday(day) => format!("the last {}", name(day)),
        Item::NthWeekday { weekday, turn } => format!("the {} {}", ordinal(turn), name(weekday)),
    });
    and(&parts.collect::<Vec<_>>())
}

pub(super) fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1st`, `2nd`, `23rd`, `11th`.
pub(super) fn ordinal(number: u16) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}
