//! A user's own schedule.

use std::fmt;

use jiff::Timestamp;

/// A schedule of one's own, for [`Schedule::custom`](super::Schedule::custom).
///
/// # Contract
///
/// 1. `next_after` is a pure function of `t`: every node works out the ticks by itself and all have
///    to agree, whatever their clocks and whenever they ask.
/// 2. Its answer is later than `t`, and later or the same for a later `t`.
/// 3. `None` means that no tick comes any more.
/// 4. `name` tells one schedule from another: it goes into the fingerprint, so whatever changes the
///    ticks changes the name.
///
/// A scheduler refuses an answer that is not later than `t`, and a panic stops the one job alone.
///
/// # Examples
///
/// ```
/// use jiff::{SignedDuration, Timestamp};
/// use tidelock::{Occurrences, Schedule};
///
/// /// Each power of two seconds after 1970.
/// #[derive(Debug)]
/// struct Doubling;
///
/// impl Occurrences for Doubling {
///     fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
///         let second = u64::try_from(t.as_second()).unwrap_or(0);
///         Timestamp::from_second((second + 1).next_power_of_two().try_into().ok()?).ok()
///     }
///
///     fn name(&self) -> String {
///         "doubling".to_owned()
///     }
/// }
///
/// let schedule = Schedule::custom(Doubling);
/// let next = schedule.next_after(Timestamp::from_second(1_000).unwrap());
/// assert_eq!(next, Timestamp::from_second(1_024).ok());
/// ```
pub trait Occurrences: fmt::Debug + Send + Sync + 'static {
    /// The first tick strictly later than `t`. A fraction of a millisecond is cut upwards.
    fn next_after(&self, t: Timestamp) -> Option<Timestamp>;

    /// What tells this schedule from any other, in words of the user's.
    fn name(&self) -> String;
}
