//! Asking a schedule, which may be a user's own and panic or make no sense.

use jiff::Timestamp;

use super::shield::shield;
use crate::job::Definition;
use crate::{Occurrence, TickSpan};

/// How many missed ticks are counted one by one.
pub(crate) const COUNT_LIMIT: u64 = 1_000;

/// What is wrong with a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Fault(pub(crate) String);

/// The first tick later than `after`.
pub(crate) fn next(job: &Definition, after: Timestamp) -> Result<Option<Occurrence>, Fault> {
    // Nothing is scheduled before 1970.
    let after = after.max(Timestamp::UNIX_EPOCH - jiff::SignedDuration::from_millis(1));
    match shield(|| job.schedule.next_after(after)).map_err(Fault)? {
        Some(tick) if tick <= after => {
            Err(Fault(format!("its next tick after {after} is {tick}, which is not later")))
        }
        tick => Ok(tick.and_then(Occurrence::new)),
    }
}

/// The newest tick later than `after` and not later than `through`.
pub(crate) fn newest(
    job: &Definition,
    after: Timestamp,
    through: Timestamp,
) -> Result<Option<Occurrence>, Fault> {
    let tick = shield(|| job.schedule.newest_between(after, through)).map_err(Fault)?;
    Ok(tick.filter(|tick| *tick > after && *tick <= through).and_then(Occurrence::new))
}

/// How many ticks are later than `after` and not later than `through`, counted up to `limit`.
pub(crate) fn count(
    job: &Definition,
    after: Timestamp,
    through: Timestamp,
    limit: u64,
) -> Result<(u64, bool), Fault> {
    let ticks = shield(|| job.schedule.count_between(after, through, limit)).map_err(Fault)?;
    Ok((ticks.count, ticks.at_least))
}

/// The ticks later than `after` and before `before`, if there are any.
pub(crate) fn span(
    job: &Definition,
    after: Timestamp,
    before: Occurrence,
) -> Result<Option<TickSpan>, Fault> {
    let through = before.at() - jiff::SignedDuration::from_millis(1);
    let Some(first) = next(job, after)?.filter(|first| *first < before) else {
        return Ok(None);
    };
    let last = newest(job, after, through)?.unwrap_or(first);
    let (found, at_least) = count(job, after, through, COUNT_LIMIT)?;
    Ok(Some(TickSpan::new(first, last, found.max(1), at_least)))
}
