//! One item of a field's list: `*/5`, `9-17`, `FRI#2`.

use crate::schedule::error::{ScheduleError, ScheduleErrorKind as Kind};
use crate::schedule::field::Field;

/// What an item says. Weekdays are 0 (Sunday) to 6 here, and only their ranges may wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::schedule) enum Item {
    /// `*`, `?` and `*/step`.
    All { step: u16 },
    /// `N`, `N-M`, `N-M/step` and `N/step` (to the end of the field).
    Range { from: u16, to: u16, step: u16 },
    /// `L` as a day of the month.
    LastDay,
    /// `LW`.
    LastWorkday,
    /// `15W`.
    NearestWorkday(u16),
    /// `5L`.
    LastWeekday(u16),
    /// `FRI#2`.
    NthWeekday { weekday: u16, turn: u16 },
}

impl Item {
    /// Writes the item as canonical text: numbers for names, no step of 1, no open end.
    pub(super) fn write(self, text: &mut String) {
        match self {
            Item::All { step } => {
                text.push('*');
                write_step(text, step);
            }
            Item::Range { from, to, step } => {
                write_number(text, from);
                if from != to {
                    text.push('-');
                    write_number(text, to);
                    write_step(text, step);
                }
            }
            Item::LastDay => text.push('L'),
            Item::LastWorkday => text.push_str("LW"),
            Item::NearestWorkday(day) => {
                write_number(text, day);
                text.push('W');
            }
            Item::LastWeekday(weekday) => {
                write_number(text, weekday);
                text.push('L');
            }
            Item::NthWeekday { weekday, turn } => {
                write_number(text, weekday);
                text.push('#');
                write_number(text, turn);
            }
        }
    }
}

fn write_step(text: &mut String, step: u16) {
    if step != 1 {
        text.push('/');
        write_number(text, step);
    }
}

/// A number of at most four digits, without the cost of `format!`, which was half of parsing.
pub(super) fn write_number(text: &mut String, number: u16) {
    for unit in [1_000, 100, 10, 1] {
        if number >= unit || unit == 1 {
            text.push(char::from(b'0' + (number / unit % 10).to_le_bytes()[0]));
        }
    }
}

/// Reads one item, which starts at byte `start` of `expression`.
pub(super) struct ItemParser<'a> {
    expression: &'a str,
    field: Field,
    at: usize,
    end: usize,
}

impl<'a> ItemParser<'a> {
    pub(super) fn new(expression: &'a str, field: Field, start: usize, end: usize) -> Self {
        Self { expression, field, at: start, end }
    }

    pub(super) fn parse(mut self) -> Result<Item, ScheduleError> {
        let item = self.item()?;
        if self.at < self.end {
            return Err(self.unexpected("`,`, a blank or the end"));
        }
        Ok(item)
    }

    fn item(&mut self) -> Result<Item, ScheduleError> {
        let start = self.at;
        match self.rest() {
            "?" if matches!(self.field, Field::DayOfMonth | Field::DayOfWeek) => {
                self.at = self.end;
                return Ok(Item::All { step: 1 });
            }
            word if self.field == Field::DayOfMonth && word.eq_ignore_ascii_case("L") => {
                self.at = self.end;
                return Ok(Item::LastDay);
            }
            word if self.field == Field::DayOfMonth && word.eq_ignore_ascii_case("LW") => {
                self.at = self.end;
                return Ok(Item::LastWorkday);
            }
            _ => {}
        }
        if self.take('*') {
            let step = self.step()?.unwrap_or(1);
            return Ok(Item::All { step });
        }
        let from = self.value()?;
        let weekday = self.field == Field::DayOfWeek;
        if self.field == Field::DayOfMonth && self.take_letter('W') {
            return Ok(Item::NearestWorkday(from));
        }
        if weekday && self.take_letter('L') {
            return Ok(Item::LastWeekday(from % 7));
        }
        if weekday && self.take('#') {
            let turn = self.number(1, 5, Kind::OutOfRange, "a turn in the month from 1 to 5")?;
            return Ok(Item::NthWeekday { weekday: from % 7, turn });
        }
        if !self.take('-') {
            // 7 is Sunday, from which a step counts as from 0.
            let from = if weekday { from % 7 } else { from };
            return Ok(match self.step()? {
                Some(step) => range(from, self.field.max(), step),
                None => range(from, from, 1),
            });
        }
        let to = self.value()?;
        let (from, to) = if weekday {
            wrapping(from, to)
        } else if from > to {
            let expected = format!("a range whose end is not before its start {from}");
            let found = &self.expression[start..self.at];
            return Err(self.error(Kind::OutOfRange, expected, start).found(found));
        } else {
            (from, to)
        };
        let step = self.step()?.unwrap_or(1);
        Ok(range(from, to, step))
    }

    fn step(&mut self) -> Result<Option<u16>, ScheduleError> {
        if !self.take('/') {
            return Ok(None);
        }
        let size = self.field.size();
        let expected = format!("a step from 1 to {size}");
        self.number(1, size, Kind::Step, &expected).map(Some)
    }

    /// A number or a name.
    fn value(&mut self) -> Result<u16, ScheduleError> {
        let field = self.field;
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or(rest);
            let last = field == Field::DayOfWeek && word.len() == 4 && ends_with_l(word);
            let name = if last { &word[..3] } else { word };
            self.at += name.len();
            return field
                .named(name)
                .ok_or_else(|| self.error(Kind::Syntax, field.expected(), start).found(rest));
        }
        self.number(field.min(), field.max_written(), Kind::OutOfRange, field.expected())
    }

    fn number(
        &mut self,
        min: u16,
        max: u16,
        kind: Kind,
        expected: &str,
    ) -> Result<u16, ScheduleError> {
        let start = self.at;
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.unexpected(expected));
        }
        self.at += digits;
        let digits = &self.expression[start..self.at];
        // A number too long for the type is out of range as well.
        match digits.parse::<u16>() {
            Ok(value) if (min..=max).contains(&value) => Ok(value),
            _ => Err(self.error(kind, expected, start).found(digits)),
        }
    }

    fn rest(&self) -> &'a str {
        &self.expression[self.at..self.end]
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.rest().starts_with(wanted);
        self.at += if there { wanted.len_utf8() } else { 0 };
        there
    }

    fn take_letter(&mut self, wanted: char) -> bool {
        self.take(wanted) || self.take(wanted.to_ascii_lowercase())
    }

    /// An error at what comes next.
    fn unexpected(&self, expected: &str) -> ScheduleError {
        let error = self.error(Kind::Syntax, expected, self.at);
        match self.rest() {
            "" => error.found(match self.expression[self.at..].chars().next() {
                None => "the end",
                Some(',') => ",",
                Some(_) => " ",
            }),
            rest => error.found(rest),
        }
    }

    fn error(&self, kind: Kind, expected: impl Into<String>, at: usize) -> ScheduleError {
        ScheduleError::new(kind, expected).in_field(self.field).at(self.expression, at)
    }
}

fn ends_with_l(word: &str) -> bool {
    word.ends_with(['L', 'l'])
}

/// A range, or a single value where the step leaves it at once. One that wraps is left as it is.
fn range(from: u16, to: u16, step: u16) -> Item {
    if from <= to && step > to - from {
        return Item::Range { from, to: from, step: 1 };
    }
    Item::Range { from, to, step }
}

/// A range of weekdays, where 7 is Sunday at either end and the range may wrap round Saturday.
fn wrapping(from: u16, to: u16) -> (u16, u16) {
    match (from, to) {
        (0, 7) => (0, 6),
        (from, to) => (from % 7, to % 7),
    }
}
