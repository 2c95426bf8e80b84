//! A tick and what a change of the clocks does to it.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// A tick, or times that have none because the clocks change.
///
/// `Display` gives one line: the instant in UTC (`-` where there is no tick), the local time, and the
/// effect in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedTick {
    /// The tick; for times without one the instant at which the clocks leave them out or show the
    /// first of them.
    pub instant: Timestamp,
    /// The local time at that instant.
    pub local: DateTime,
    /// The offset from UTC at that instant.
    pub offset: Offset,
    /// What a change of the clocks does to it.
    pub effect: Effect,
}

/// What a change of the clocks does to a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing.
    None,
    /// The tick stands for so many times that the clocks leave out, and follows right after them.
    Moved {
        /// The first of them.
        first: DateTime,
        /// The last of them.
        last: DateTime,
        /// How many they are.
        count: u64,
    },
    /// No tick: the clocks leave so many times out.
    LeftOut {
        /// The first of them.
        first: DateTime,
        /// The last of them.
        last: DateTime,
        /// How many they are.
        count: u64,
    },
    /// No tick: the clocks show so many times twice, and this is not the time they run.
    NotRepeated {
        /// The first of them.
        first: DateTime,
        /// The last of them.
        last: DateTime,
        /// How many they are.
        count: u64,
    },
    /// The first of two ticks at the same local time.
    FirstOfTwo,
    /// The second of two ticks at the same local time.
    SecondOfTwo,
}

impl ExplainedTick {
    /// Whether this is a tick, and not times that have none.
    pub fn is_tick(&self) -> bool {
        !matches!(self.effect, Effect::LeftOut { .. } | Effect::NotRepeated { .. })
    }
}

impl fmt::Display for ExplainedTick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_tick() {
            true => write!(f, "{}", self.instant)?,
            false => write!(f, "{:20}", "-")?,
        }
        let local = self.offset.to_timestamp(self.local).unwrap_or(self.instant);
        write!(f, "  {}{}", local.display_with_offset(self.offset), self.effect)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::None => Ok(()),
            Effect::Moved { first, last, count } => {
                f.write_str("  moved: the clocks leave out ")?;
                times(f, first, last, *count)
            }
            Effect::LeftOut { first, last, count } => {
                f.write_str("  dropped: the clocks leave out ")?;
                times(f, first, last, *count)
            }
            Effect::NotRepeated { first, last, count } => {
                f.write_str("  dropped: runs the other time when the clocks show twice ")?;
                times(f, first, last, *count)
            }
            Effect::FirstOfTwo => f.write_str("  doubled: the first of two at this local time"),
            Effect::SecondOfTwo => f.write_str("  doubled: the second of two at this local time"),
        }
    }
}

fn times(f: &mut fmt::Formatter<'_>, first: &DateTime, last: &DateTime, count: u64) -> fmt::Result {
    match count {
        1 => write!(f, "{}", first.time()),
        _ if first.date() == last.date() => {
            write!(f, "{count} times from {} to {}", first.time(), last.time())
        }
        _ => write!(f, "{count} times from {first} to {last}"),
    }
}
