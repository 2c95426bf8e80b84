//! Ticks within a span: the newest one, and how many there are.

use jiff::Timestamp;

/// How many ticks a span holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TickCount {
    /// The ticks counted.
    pub count: u64,
    /// The counting stopped at its limit: there are at least so many.
    pub at_least: bool,
}

impl TickCount {
    pub(super) fn new(count: u64, at_least: bool) -> Self {
        Self { count, at_least }
    }
}

/// The newest tick in `(after, through]`, by bisection: `next` is monotonic, so of all instants
/// that have a tick by `through`, the last one's is the newest. Each step halves the span in whole
/// milliseconds, so there are at most 50 calls for all the years there are. It ends for a `next`
/// that keeps no promise, too.
pub(super) fn newest(
    next: impl Fn(Timestamp) -> Option<Timestamp>,
    after: Timestamp,
    through: Timestamp,
) -> Option<Timestamp> {
    let within = |t: Timestamp| next(t).filter(|&tick| tick > t && tick <= through);
    let mut newest = within(after)?;
    let (mut low, mut high) = (newest.as_millisecond(), through.as_millisecond());
    while low < high {
        let middle = low + (high - low) / 2;
        // Between two instants that exist.
        let Ok(t) = Timestamp::from_millisecond(middle) else {
            break;
        };
        match within(t) {
            Some(tick) => {
                newest = tick;
                low = tick.as_millisecond().max(middle + 1);
            }
            None => high = middle,
        }
    }
    Some(newest)
}

/// The ticks in `(after, through]`, one by one up to `limit`.
pub(super) fn count(
    next: impl Fn(Timestamp) -> Option<Timestamp>,
    after: Timestamp,
    through: Timestamp,
    limit: u64,
) -> TickCount {
    let mut t = after;
    let mut count = 0;
    while let Some(tick) = next(t).filter(|&tick| tick > t && tick <= through) {
        if count == limit {
            return TickCount::new(count, true);
        }
        count += 1;
        t = tick;
    }
    TickCount::new(count, false)
}
