//! The machine's clock.

use jiff::Timestamp;

use super::Clock;

/// The clock of the machine, with whatever skew and steps it has.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the machine's clock is read"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
