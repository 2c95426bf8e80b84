//! Which of the ticks that are due is asked for, and whether to run or to skip it. Pure.

use jiff::{SignedDuration, Timestamp};

use super::ticks::{self, Fault};
use crate::job::Definition;
use crate::{Intent, Misfire, Occurrence, SkipReason};

/// A tick to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    pub(crate) occurrence: Occurrence,
    pub(crate) intent: Intent,
    /// It waits for a lock that is held, and its successors wait for it.
    pub(crate) patient: bool,
}

/// The moment at which ticks are found due, by the clock that the job is planned by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: i64,
    /// Since when the node has been watching this clock without a break: what fell due before is
    /// missed.
    pub(crate) watching_since: i64,
}

/// Picks the tick to ask for, when `next`, the first one after `cursor`, is due.
///
/// The cost does not depend on how many ticks are due.
pub(crate) fn pick(
    job: &Definition,
    cursor: Timestamp,
    next: Occurrence,
    moment: Moment,
) -> Result<Tick, Fault> {
    let now = instant(moment.now.saturating_sub(job.splay_ms));
    let newest = ticks::newest(job, cursor, now)?.unwrap_or(next).max(next);
    let missed = |tick: Occurrence| tick.as_millisecond() + job.splay_ms < moment.watching_since;
    let (occurrence, patient) = match job.misfire {
        Misfire::All { max } if newest != next || missed(newest) => {
            (oldest_of(job, cursor, next, newest, max)?, true)
        }
        _ => (newest, false),
    };
    let late = moment.now - (occurrence.as_millisecond() + job.splay_ms);
    let too_late = job
        .start_within
        .is_some_and(|limit| i128::from(late) > millis(limit));
    let unwanted = match job.misfire {
        Misfire::Skip => missed(occurrence),
        Misfire::All { max } => max == 0 && patient,
        Misfire::Once => false,
    };
    let intent = if too_late || unwanted {
        Intent::Skip(SkipReason::Misfire)
    } else {
        Intent::Run
    };
    // Nothing waits behind a tick that is only passed over.
    Ok(Tick {
        occurrence,
        intent,
        patient: patient && intent == Intent::Run,
    })
}

/// The oldest of the newest `max` ticks after `cursor`, `newest` among them.
fn oldest_of(
    job: &Definition,
    cursor: Timestamp,
    next: Occurrence,
    newest: Occurrence,
    max: u32,
) -> Result<Occurrence, Fault> {
    let max = u64::from(max.max(1));
    let (count, _) = ticks::count(job, cursor, newest.at(), max + 1)?;
    if count <= max {
        return Ok(next);
    }
    let mut oldest = newest;
    for _ in 1..max {
        let before = oldest.at() - SignedDuration::from_millis(1);
        match ticks::newest(job, cursor, before)? {
            Some(tick) => oldest = tick,
            None => break,
        }
    }
    Ok(oldest)
}

pub(crate) fn instant(ms: i64) -> Timestamp {
    let clamped = if ms < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Timestamp::from_millisecond(ms).unwrap_or(clamped)
}

fn millis(duration: std::time::Duration) -> i128 {
    i128::try_from(duration.as_millis()).unwrap_or(i128::MAX)
}
