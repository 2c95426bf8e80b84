//! A fixed period, aligned so that all nodes agree on its ticks.

use std::time::Duration;

use jiff::Timestamp;

use super::error::{ScheduleError, ScheduleErrorKind as Kind};

/// From 1970 to the last instant there is: a longer period could never tick twice.
pub(super) const MAX_PERIOD_MS: i64 = 253_402_207_200_000;

/// Ticks at `anchor + k * period` for `k >= 0`, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Every {
    pub(super) period: i64,
    pub(super) anchor: i64,
}

impl Every {
    pub(super) fn new(period: Duration, anchor: Timestamp) -> Result<Self, ScheduleError> {
        let refused = |expected: &str| {
            Err(ScheduleError::new(Kind::Period, expected).found(&format!("{period:?}")))
        };
        if period.is_zero() {
            return refused("a period longer than zero");
        }
        if !period.subsec_nanos().is_multiple_of(1_000_000) {
            return refused("whole milliseconds");
        }
        match i64::try_from(period.as_millis()) {
            Ok(period) if period <= MAX_PERIOD_MS => {
                Ok(Self { period, anchor: whole_up(anchor).as_millisecond() })
            }
            _ => refused("a period of at most 9999 years"),
        }
    }

    /// How many ticks there are up to and including `t`.
    fn ticks_through(&self, t: Timestamp) -> i64 {
        let since = floor_ms(t) - self.anchor;
        if since < 0 { 0 } else { since / self.period + 1 }
    }

    fn tick(&self, index: i64) -> Option<Timestamp> {
        let at = self.period.checked_mul(index)?.checked_add(self.anchor)?;
        Timestamp::from_millisecond(at).ok()
    }

    pub(super) fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        self.tick(self.ticks_through(t))
    }

    pub(super) fn newest_between(&self, after: Timestamp, through: Timestamp) -> Option<Timestamp> {
        let newest = self.tick(self.ticks_through(through).checked_sub(1).filter(|&i| i >= 0)?)?;
        (newest > after).then_some(newest)
    }

    pub(super) fn count_between(&self, after: Timestamp, through: Timestamp) -> u64 {
        let count = self.ticks_through(through) - self.ticks_through(after);
        u64::try_from(count).unwrap_or(0)
    }
}

/// Whole milliseconds, towards the past.
pub(super) fn floor_ms(t: Timestamp) -> i64 {
    let ms = t.as_millisecond();
    // jiff cuts towards 1970, so that before it the cut is upwards.
    ms - i64::from(t.subsec_nanosecond() % 1_000_000 < 0)
}

/// The instant itself or the next whole millisecond; the very last one goes down, for want of it.
pub(super) fn whole_up(t: Timestamp) -> Timestamp {
    if t.subsec_nanosecond() % 1_000_000 == 0 {
        return t;
    }
    // The last second takes no milliseconds but by its parts.
    let nanosecond = t.subsec_nanosecond() / 1_000_000 * 1_000_000;
    Timestamp::from_millisecond(floor_ms(t) + 1)
        .or_else(|_| Timestamp::new(t.as_second(), nanosecond))
        .unwrap_or(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_cut_up_to_whole_milliseconds() {
        let cases = [
            ("1970-01-01T00:00:00.0001Z", 1),
            ("1969-12-31T23:59:59.9999Z", 0),
            ("1969-12-31T23:59:59.9985Z", -1),
        ];
        for (text, ms) in cases {
            assert_eq!(whole_up(text.parse().unwrap()).as_millisecond(), ms, "{text}");
        }
        assert_eq!(whole_up(Timestamp::MAX).subsec_nanosecond(), 999_000_000);
        assert_eq!(whole_up(Timestamp::MIN), Timestamp::MIN);
    }
}
