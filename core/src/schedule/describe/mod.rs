//! A schedule in plain English.

mod phrase;

use jiff::{SignedDuration, Timestamp};

use super::cron::Cron;
use super::dialect::{Item, Items, canonical_items};
use super::every::Every;
use super::field::Field;
use super::shift::{OnGap, OnRepeat};
use phrase::{MONTHS, WEEKDAYS, and, ordinal, phrase};

/// `At 02:30 on the 1st of every month, Asia/Shanghai`. Each item is said in its place, so that two
/// expressions only read alike where they mean the same.
pub(super) fn cron(cron: &Cron) -> String {
    let items = canonical_items(&cron.text);
    let mut text = capitalised(time(&items));
    text.push_str(&date(&items));
    text.push_str(", ");
    text.push_str(cron.zone_name());
    text.push_str(match cron.on_gap {
        Some(OnGap::Skip) => "; nothing runs for a time the clocks leave out",
        Some(OnGap::After) => "; runs right after the clocks have left a time out",
        None => "",
    });
    text.push_str(match cron.on_repeat {
        Some(OnRepeat::First) => "; only the first time when the clocks show a time twice",
        Some(OnRepeat::Second) => "; only the second time when the clocks show a time twice",
        Some(OnRepeat::Both) => "; both times when the clocks show a time twice",
        None => "",
    });
    text
}

/// `Every 1h 30m, counted from 1970-01-01T00:00:00Z`.
pub(super) fn every(every: &Every) -> String {
    let period = SignedDuration::from_millis(every.period);
    match Timestamp::from_millisecond(every.anchor) {
        Ok(anchor) => format!("Every {period:#}, counted from {anchor}"),
        Err(_) => format!("Every {period:#}"),
    }
}

fn time(items: &Items) -> String {
    let (seconds, minutes) = (&items[Field::Second], &items[Field::Minute]);
    let hours = &items[Field::Hour];
    if let Some(times) = times(seconds, minutes, hours) {
        return format!("at {}", and(&times));
    }
    let mut parts = Vec::new();
    if single(seconds) != Some(0) {
        parts.push(phrase(seconds, "second", |second| second.to_string()));
    }
    // `every 5 seconds` says it without `of every minute`.
    if !matches!((seconds, minutes), ([Item::All { .. }], [Item::All { step: 1 }])) {
        parts.push(phrase(minutes, "minute", |minute| minute.to_string()));
    }
    if !matches!(hours, [Item::All { step: 1 }]) {
        parts.push(phrase(hours, "hour", |hour| hour.to_string()));
    } else if single(minutes).is_some() {
        parts.push("every hour".to_owned());
    }
    // Only what comes first stands without a preposition.
    let mut text = String::new();
    for part in parts {
        match (text.is_empty(), part.starts_with("every")) {
            (true, true) => {}
            (true, false) => text.push_str("at "),
            (false, true) => text.push_str(" of "),
            (false, false) => text.push_str(" in "),
        }
        text.push_str(&part);
    }
    text
}

/// The times of the day one by one, where they are few and written out.
fn times(seconds: &[Item], minutes: &[Item], hours: &[Item]) -> Option<Vec<String>> {
    let (seconds, minutes, hours) = (singles(seconds)?, singles(minutes)?, singles(hours)?);
    if seconds.len() * minutes.len() * hours.len() > 6 {
        return None;
    }
    let mut times = Vec::new();
    for hour in &hours {
        for minute in &minutes {
            for second in &seconds {
                times.push(match (&seconds[..], second) {
                    ([0], _) => format!("{hour:02}:{minute:02}"),
                    (_, second) => format!("{hour:02}:{minute:02}:{second:02}"),
                });
            }
        }
    }
    times.sort();
    Some(times)
}

fn date(items: &Items) -> String {
    let (days, weekdays) = (&items[Field::DayOfMonth], &items[Field::DayOfWeek]);
    let (any_day, any_weekday) = (items.is_any(Field::DayOfMonth), items.is_any(Field::DayOfWeek));
    let month = match &items[Field::Month] {
        _ if items.is_any(Field::Month) => None,
        months => Some(phrase(months, "month", |month| MONTHS[usize::from(month - 1)].to_owned())),
    };
    // A day is one of a month and so is its second Friday; a Friday is one of a week.
    let in_month = |of_month: bool| match (&month, of_month) {
        (Some(month), true) => format!(" of {month}"),
        (Some(month), false) => format!(" in {month}"),
        (None, true) => " of every month".to_owned(),
        (None, false) => String::new(),
    };
    let mut text = String::new();
    if any_day && any_weekday {
        if singles(&items[Field::Hour]).is_some() {
            text.push_str(" every day");
        }
        text.push_str(&in_month(false));
    }
    if !any_day {
        text.push_str(" on ");
        text.push_str(&phrase(days, "day", ordinal));
        text.push_str(&in_month(true));
    }
    if !any_weekday {
        text.push_str(if any_day { " on " } else { " and also on " });
        text.push_str(&phrase(weekdays, "weekday", |day| WEEKDAYS[usize::from(day)].to_owned()));
        text.push_str(&in_month(weekdays.iter().any(is_of_month)));
    }
    let years = &items[Field::Year];
    if !items.is_any(Field::Year) {
        text.push_str(" in ");
        text.push_str(&phrase(years, "year", |year| year.to_string()));
    }
    text
}

fn is_of_month(item: &Item) -> bool {
    matches!(item, Item::LastWeekday(_) | Item::NthWeekday { .. })
}

/// The values, where each stands by itself.
fn singles(items: &[Item]) -> Option<Vec<u16>> {
    let single = |item: &Item| match *item {
        Item::Range { from, to, .. } if from == to => Some(from),
        _ => None,
    };
    items.iter().map(single).collect()
}

fn single(items: &[Item]) -> Option<u16> {
    singles(items).filter(|values| values.len() == 1).map(|values| values[0])
}

fn capitalised(text: String) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use crate::Schedule;

    #[test]
    fn expressions_are_said_in_english() {
        let cases = [
            ("30 2 1 * *", "At 02:30 on the 1st of every month, UTC"),
            ("0 0 * * *", "At 00:00 every day, UTC"),
            ("15 30 2 * * *", "At 02:30:15 every day, UTC"),
            ("0 9,17 * * MON-FRI", "At 09:00 and 17:00 on Monday through Friday, UTC"),
            ("*/20 * * * *", "Every 20 minutes, UTC"),
            ("* * * * *", "Every minute, UTC"),
            ("* * * * * *", "Every second, UTC"),
            ("*/5 * * * * *", "Every 5 seconds, UTC"),
            ("@hourly", "At minute 0 of every hour, UTC"),
            ("*/7 * * * *", "Every 7th minute, UTC"),
            (
                "*/15 9-17 * * 1-5",
                "Every 15 minutes in hours 9 through 17 on Monday through Friday, UTC",
            ),
            ("5 */2 * * *", "At minute 5 of every 2nd hour, UTC"),
            (
                "0 0 LW * *",
                "At 00:00 on the last working day (Monday to Friday) of every month, UTC",
            ),
            ("0 12 * * FRI-MON", "At 12:00 on Friday through Monday, UTC"),
            ("0 12 * 3,10 5L", "At 12:00 on the last Friday of March and October, UTC"),
            ("0 12 * * FRI#2", "At 12:00 on the 2nd Friday of every month, UTC"),
            ("0 12 * 6 FRI", "At 12:00 on Friday in June, UTC"),
            ("0 0 13 * 5", "At 00:00 on the 13th of every month and also on Friday, UTC"),
            (
                "0 0 15W * *",
                "At 00:00 on the working day (Monday to Friday) nearest to the 15th of every month, UTC",
            ),
            ("0 0 */2 2-4 *", "At 00:00 on every 2nd day of February through April, UTC"),
            (
                "0 0 0 1 1 * 2027/2",
                "At 00:00 on the 1st of January in every 2nd year from 2027 through 2100, UTC",
            ),
            ("TZ=Europe/Berlin 30 2 * * *", "At 02:30 every day, Europe/Berlin"),
            ("@every 1h30m", "Every 1h 30m, counted from 1970-01-01T00:00:00Z"),
        ];
        for (expression, expected) in cases {
            assert_eq!(Schedule::cron(expression).unwrap().describe(), expected, "{expression}");
        }
    }
}
