//! One scheduled instant of one job.

use std::fmt;

use jiff::Timestamp;

/// One scheduled instant of one job ("the 02:00 tick of settlement"), in whole milliseconds from
/// 1970 to 9999.
///
/// It comes from the schedule, never from a node's clock: that is why two nodes whose clocks
/// differ still mean the same tick.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence(i64);

impl Occurrence {
    /// The largest: 9999-12-30T22:00:00Z, the end of the range of [`Timestamp`] in whole seconds.
    pub const MAX: Self = Self(253_402_207_200_000);

    /// The occurrence at that instant, or `None` when it is no whole millisecond or out of range.
    pub fn new(at: Timestamp) -> Option<Self> {
        let whole = at.subsec_nanosecond() % 1_000_000 == 0;
        whole.then(|| Self::from_millisecond(at.as_millisecond())).flatten()
    }

    /// The occurrence that many milliseconds after 1970-01-01T00:00:00Z, if in range.
    pub fn from_millisecond(ms: i64) -> Option<Self> {
        (0..=Self::MAX.0).contains(&ms).then_some(Self(ms))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn as_millisecond(self) -> i64 {
        self.0
    }

    /// The instant.
    pub fn at(self) -> Timestamp {
        // In range by construction; the fallback is never taken and keeps this free of panics.
        Timestamp::from_millisecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.at().to_string())
    }
}

impl fmt::Debug for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_milliseconds_since_1970_are_occurrences() {
        assert!(Timestamp::from_millisecond(Occurrence::MAX.0).is_ok());
        assert_eq!(Occurrence::new(Timestamp::MAX), None);
        assert_eq!(Occurrence::new(Timestamp::MIN), None);
        assert_eq!(Occurrence::new("2026-01-01T00:00:00.0005Z".parse().unwrap()), None);
        let tick = Occurrence::new("2026-01-01T00:00:00.5Z".parse().unwrap()).unwrap();
        assert_eq!(tick.to_string(), "2026-01-01T00:00:00.5Z");
    }
}
