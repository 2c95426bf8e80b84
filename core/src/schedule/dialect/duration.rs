//! The period of `@every`, as Go writes durations.

use crate::schedule::error::{ScheduleError, ScheduleErrorKind as Kind};
use crate::schedule::every::MAX_PERIOD_MS;

const EXPECTED: &str = "a period such as 1h30m, 90s or 1.5s (units h, m, s and ms)";

/// `1h30m`, `90s`, `1.5h`, `250ms` in milliseconds; `at` is its byte in `text`.
pub(super) fn parse(text: &str, at: usize, period: &str) -> Result<i64, ScheduleError> {
    let error = |kind, expected: &str, offset: usize, found: &str| {
        ScheduleError::new(kind, expected).found(found).at(text, at + offset)
    };
    if period.is_empty() {
        return Err(error(Kind::Period, EXPECTED, 0, "the end"));
    }
    let mut total: i64 = 0;
    let mut offset = 0;
    while offset < period.len() {
        let rest = &period[offset..];
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = rest[number..].find(|c: char| !c.is_ascii_alphabetic());
        let end = unit.map_or(rest.len(), |unit| number + unit);
        let unit = match &rest[number..end] {
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            _ => return Err(error(Kind::Period, EXPECTED, offset, rest)),
        };
        let part = scaled(&rest[..number], unit).map_err(|problem| match problem {
            Problem::Syntax => error(Kind::Period, EXPECTED, offset, rest),
            Problem::Fraction => error(Kind::Period, "whole milliseconds", offset, rest),
            Problem::TooLong => error(Kind::Period, "a period of at most 9999 years", offset, rest),
        })?;
        total = match total.checked_add(part) {
            Some(total) if total <= MAX_PERIOD_MS => total,
            _ => {
                return Err(error(Kind::Period, "a period of at most 9999 years", 0, period));
            }
        };
        offset += end;
    }
    if total == 0 {
        return Err(error(Kind::Period, "a period longer than zero", 0, period));
    }
    Ok(total)
}

enum Problem {
    Syntax,
    Fraction,
    TooLong,
}

/// `number`, with or without a fraction, times `unit`, where that is a whole number.
fn scaled(number: &str, unit: i64) -> Result<i64, Problem> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(Problem::Syntax);
    }
    let whole = match whole {
        "" => 0,
        digits => digits.parse::<i64>().map_err(|_| Problem::TooLong)?,
    };
    let fraction = fraction.trim_end_matches('0');
    // No unit has more than nine decimal places in whole milliseconds.
    if fraction.len() > 9 {
        return Err(Problem::Fraction);
    }
    let digits = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<i64>().map_err(|_| Problem::Syntax)?
    };
    let scale = 10_i64.pow(u32::try_from(fraction.len()).map_err(|_| Problem::Fraction)?);
    if digits * unit % scale != 0 {
        return Err(Problem::Fraction);
    }
    whole
        .checked_mul(unit)
        .and_then(|whole| whole.checked_add(digits * unit / scale))
        .ok_or(Problem::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_as_go_writes_them() {
        let cases = [
            ("1h30m", 5_400_000),
            ("90s", 90_000),
            ("1.5h", 5_400_000),
            ("250ms", 250),
            ("1.25s", 1_250),
            (".5s", 500),
            ("1h0m0.500s", 3_600_500),
        ];
        for (text, milliseconds) in cases {
            assert_eq!(parse(text, 0, text).unwrap(), milliseconds, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let huge = "9".repeat(400);
        let wrong = [
            "",
            "0s",
            "0.5ms",
            "1.0001s",
            "5",
            "h",
            "1d",
            "-1s",
            "+1s",
            "1.2.3s",
            ".s",
            "1h 2m",
            "1H",
            "99999999999h",
            "1s\u{0}",
            "１s",
            "0.0000000001h",
            &huge,
        ];
        for text in wrong {
            assert_eq!(parse(text, 0, text).unwrap_err().kind(), Kind::Period, "{text}");
        }
    }
}
