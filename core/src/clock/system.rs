//! The machine's clock.

use jiff::Timestamp;

use super::Clock;

/// The clock of the machine, with whatever skew and steps it has, in whole microseconds: as finely as
/// stores tell the time, and no digits are stored that mean nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the machine's clock is read"
    )]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_told_in_whole_microseconds() {
        assert!((0..100).all(|_| SystemClock.now().subsec_nanosecond() % 1_000 == 0));
    }
}
