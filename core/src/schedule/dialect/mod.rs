//! The cron dialect: what a user writes, read strictly and turned into sets of values.

mod duration;
mod item;
mod items;
mod matcher;

pub(super) use item::Item;
use item::ItemParser;
pub(super) use items::Items;

use super::civil::FieldSets;
use super::error::{ScheduleError, ScheduleErrorKind as Kind};
use super::field::Field;

/// Long enough for any list that means something, short enough to read in microseconds.
const MAX_BYTES: usize = 1_024;

/// What an expression turned out to be.
#[derive(Debug)]
pub(super) enum Parsed<'a> {
    Cron(Expression, Option<ZonePrefix<'a>>),
    /// `@every`, in milliseconds.
    Every(i64),
}

/// A `TZ=` or `CRON_TZ=` prefix.
#[derive(Debug)]
pub(super) struct ZonePrefix<'a> {
    pub(super) name: &'a str,
    /// The byte of the expression at which the name starts.
    pub(super) at: usize,
}

/// A cron expression, read.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) sets: FieldSets,
    /// Six fields or seven, in canonical spelling.
    pub(super) text: Box<str>,
    /// Neither the minute nor the hour field begins with `*`: Vixie cron's fixed-time job, to which
    /// a change of the clocks must neither add a tick nor take one.
    pub(super) fixed_time: bool,
}

pub(super) fn parse(text: &str) -> Result<Parsed<'_>, ScheduleError> {
    if text.len() > MAX_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(ScheduleError::new(Kind::TooLong, "at most 1024 bytes").found(&found));
    }
    let mut words = words(text);
    let prefix = match words.first() {
        Some(&(at, word)) => ["TZ=", "CRON_TZ="].iter().find_map(|prefix| {
            word.strip_prefix(prefix).map(|name| ZonePrefix { name, at: at + prefix.len() })
        }),
        None => None,
    };
    if prefix.is_some() {
        words.remove(0);
    }
    match words.first() {
        None => {
            let error = ScheduleError::new(Kind::Empty, "five, six or seven fields or a @macro");
            Err(error.found("nothing").at(text, text.len()))
        }
        Some((_, word)) if word.starts_with('@') => macros(text, &words, prefix),
        Some(_) => Ok(Parsed::Cron(fields(text, &words)?, prefix)),
    }
}

/// The words between blanks and the bytes at which they start.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::with_capacity(8);
    let mut at = 0;
    for word in text.split(|c: char| c.is_ascii_whitespace()) {
        if !word.is_empty() {
            words.push((at, word));
        }
        // Every blank is one byte.
        at += word.len() + 1;
    }
    words
}

fn macros<'a>(
    text: &'a str,
    words: &[(usize, &'a str)],
    prefix: Option<ZonePrefix<'a>>,
) -> Result<Parsed<'a>, ScheduleError> {
    let (at, name) = words[0];
    let every = name.eq_ignore_ascii_case("@every");
    if let Some(&(at, word)) = words.get(if every { 2 } else { 1 }) {
        return Err(ScheduleError::new(Kind::Syntax, "the end").found(word).at(text, at));
    }
    if every {
        if let Some(zone) = prefix {
            let expected = "no zone, which a period does not have";
            let error = ScheduleError::new(Kind::ZoneNotApplicable, expected);
            return Err(error.found(zone.name).at(text, zone.at));
        }
        let (at, period) = words.get(1).copied().unwrap_or((text.len(), ""));
        return duration::parse(text, at, period).map(Parsed::Every);
    }
    let fields_of = [
        ("@yearly", "0 0 0 1 1 *"),
        ("@annually", "0 0 0 1 1 *"),
        ("@monthly", "0 0 0 1 * *"),
        ("@weekly", "0 0 0 * * 0"),
        ("@daily", "0 0 0 * * *"),
        ("@midnight", "0 0 0 * * *"),
        ("@hourly", "0 0 * * * *"),
    ];
    match fields_of.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, expression)) => {
            Ok(Parsed::Cron(fields(expression, &self::words(expression))?, prefix))
        }
        None => {
            let expected =
                "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every";
            Err(ScheduleError::new(Kind::UnknownMacro, expected).found(name).at(text, at))
        }
    }
}

fn fields(text: &str, words: &[(usize, &str)]) -> Result<Expression, ScheduleError> {
    let items = items(text, words)?;
    let canonical = items.canonical();
    let sets = matcher::sets(&items, &canonical)?;
    if sets.at_or_after(0).is_none() {
        let day = items.is_any(Field::DayOfWeek);
        let field = if day { Field::DayOfMonth } else { Field::DayOfWeek };
        // Without a second the fields are one to the left.
        let (at, word) = words[field as usize - usize::from(words.len() == 5)];
        let expected = "a day that exists in one of its months and years (it can never fire)";
        let error = ScheduleError::new(Kind::NeverFires, expected).in_field(field);
        return Err(error.found(word).at(text, at));
    }
    let fixed_time = !items.is_starred(Field::Minute) && !items.is_starred(Field::Hour);
    Ok(Expression { sets, text: canonical.into_boxed_str(), fixed_time })
}

fn items(text: &str, words: &[(usize, &str)]) -> Result<Items, ScheduleError> {
    let first = match words.len() {
        5 => 1,
        6 | 7 => 0,
        count => {
            let expected = "five, six or seven fields: \
                            [second] minute hour day-of-month month day-of-week [year]";
            let found = if count == 1 { "1 field".to_owned() } else { format!("{count} fields") };
            let at = words.get(7).map_or(text.len(), |&(at, _)| at);
            return Err(ScheduleError::new(Kind::FieldCount, expected).found(&found).at(text, at));
        }
    };
    let mut items = Items::new();
    for field in Field::ALL {
        match (field as usize).checked_sub(first).and_then(|index| words.get(index)) {
            Some(&(at, word)) => list(&mut items, text, field, at, word)?,
            None => items.push_left_out(field),
        }
    }
    Ok(items)
}

/// The items of a canonical text, once more: they are not kept.
pub(super) fn canonical_items(text: &str) -> Items {
    // Whatever made the text has read it before.
    items(text, &words(text)).unwrap_or_else(|_| Items::new())
}

fn list(
    items: &mut Items,
    text: &str,
    field: Field,
    at: usize,
    word: &str,
) -> Result<(), ScheduleError> {
    let mut start = at;
    for part in word.split(',') {
        // `?` is a whole field, never one of several.
        if part == "?" && part.len() != word.len() {
            let error = ScheduleError::new(Kind::Syntax, field.expected()).in_field(field);
            return Err(error.found(part).at(text, start));
        }
        items.push(field, ItemParser::new(text, field, start, start + part.len()).parse()?);
        start += part.len() + 1;
    }
    Ok(())
}
