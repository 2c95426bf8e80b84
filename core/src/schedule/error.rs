//! Why a schedule was refused.

use std::fmt;

use super::field::Field;

/// Why a schedule was refused, and where in its expression.
///
/// `Display` gives a first line with the field, what was found and what was expected, then, where
/// the schedule came from an expression, the expression itself with a caret below the column.
/// Anything but printable ASCII is escaped and a long expression is cut round the column, so that
/// the text is safe for a log or a terminal whatever the user typed.
#[derive(Clone, PartialEq, Eq)]
pub struct ScheduleError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ScheduleErrorKind,
    field: Option<Field>,
    column: Option<usize>,
    excerpt: Option<Excerpt>,
    found: Option<String>,
    expected: String,
}

/// The part of an expression that an error shows, escaped, and where its caret stands.
#[derive(Clone, PartialEq, Eq)]
struct Excerpt {
    text: String,
    caret: usize,
}

/// What kind of thing was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScheduleErrorKind {
    /// Nothing was given.
    Empty,
    /// The expression has more than 1,024 bytes.
    TooLong,
    /// There are not five, six or seven fields.
    FieldCount,
    /// A field holds something that is no list of values.
    Syntax,
    /// A number, or the order of a range's ends, is out of the field's range.
    OutOfRange,
    /// A step is 0 or larger than the field.
    Step,
    /// A `@macro` that is not known.
    UnknownMacro,
    /// The zone is not in the tz database compiled in.
    UnknownZone,
    /// A zone was given to a schedule that has no wall-clock times.
    ZoneNotApplicable,
    /// No date can ever match.
    NeverFires,
    /// A period is zero, not in whole milliseconds, or too long.
    Period,
    /// The field matcher refused what the dialect accepts: a bug in this crate.
    Internal,
}

const SHOWN: usize = 60;

impl ScheduleError {
    pub(super) fn new(kind: ScheduleErrorKind, expected: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            field: None,
            column: None,
            excerpt: None,
            found: None,
            expected: expected.into(),
        }))
    }

    pub(super) fn found(mut self, found: &str) -> Self {
        let mut shown = escaped(found.chars().take(SHOWN)).concat();
        if found.chars().nth(SHOWN).is_some() {
            shown.push_str("...");
        }
        self.0.found = Some(shown);
        self
    }

    pub(super) fn in_field(mut self, field: Field) -> Self {
        self.0.field = Some(field);
        self
    }

    /// Marks the character that starts at byte `at` of `expression`.
    pub(super) fn at(mut self, expression: &str, at: usize) -> Self {
        let before = expression.char_indices().take_while(|&(byte, _)| byte < at).count();
        self.0.column = Some(before + 1);
        let from = before.saturating_sub(SHOWN / 2);
        let mut parts = escaped(expression.chars().skip(from).take(SHOWN));
        let caret = parts.iter().take(before - from).map(String::len).sum::<usize>();
        let lead = if from > 0 { "..." } else { "" };
        if expression.chars().nth(from + SHOWN).is_some() {
            parts.push("...".to_owned());
        }
        let text = format!("{lead}{}", parts.concat());
        self.0.excerpt = Some(Excerpt { text, caret: lead.len() + caret });
        self
    }

    /// What kind of thing was wrong.
    pub fn kind(&self) -> ScheduleErrorKind {
        self.0.kind
    }

    /// The field at fault, where it is one.
    pub fn field(&self) -> Option<Field> {
        self.0.field
    }

    /// The column of what is at fault: characters from 1, in the expression as it was given.
    pub fn column(&self) -> Option<usize> {
        self.0.column
    }

    /// What stood there, escaped and cut.
    pub fn found_text(&self) -> Option<&str> {
        self.0.found.as_deref()
    }

    /// What would have been right there.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }
}

/// Each character as it may safely be printed.
fn escaped(characters: impl Iterator<Item = char>) -> Vec<String> {
    characters
        .map(|c| match c {
            ' '..='~' => c.to_string(),
            other => other.escape_default().to_string(),
        })
        .collect()
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        match (inner.field, inner.column) {
            (Some(field), Some(column)) => write!(f, "{field} field, column {column}: ")?,
            (Some(field), None) => write!(f, "{field} field: ")?,
            (None, Some(column)) => write!(f, "schedule, column {column}: ")?,
            (None, None) => write!(f, "schedule: ")?,
        }
        if let Some(found) = &inner.found {
            write!(f, "found `{found}`, ")?;
        }
        write!(f, "expected {}", inner.expected)?;
        if let Some(Excerpt { text, caret }) = &inner.excerpt {
            write!(f, "\n  {text}\n  {:>1$}", "^", caret + 1)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        f.debug_struct("ScheduleError")
            .field("kind", &inner.kind)
            .field("field", &inner.field)
            .field("column", &inner.column)
            .field("found", &inner.found)
            .field("expected", &inner.expected)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for ScheduleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_marks_the_column_below_the_expression() {
        let error = ScheduleError::new(ScheduleErrorKind::OutOfRange, Field::Minute.expected())
            .in_field(Field::Minute)
            .found("61")
            .at("TZ=UTC 61 * * * *", 7);
        let text = "minute field, column 8: found `61`, expected a number from 0 to 59\n  \
                    TZ=UTC 61 * * * *\n         ^";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn hostile_text_is_escaped_and_cut() {
        let hostile = format!("\u{0}\u{202e}\u{1f600}{}x{}", "*".repeat(500), "é".repeat(1 << 20));
        let error = ScheduleError::new(ScheduleErrorKind::Syntax, "a number")
            .found(&hostile)
            .at(&hostile, hostile.find('x').unwrap());
        let text = error.to_string();
        assert_eq!(error.column(), Some(504));
        assert!(text.chars().all(|c| c == '\n' || c == ' ' || c.is_ascii_graphic()), "{text}");
        assert!(text.len() < 1_000, "{text}");
        let lines = text.lines().collect::<Vec<_>>();
        assert_eq!(&lines[1][lines[2].find('^').unwrap()..][..1], "x");
    }
}
