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

impl Moment {
    /// So many milliseconds before.
    pub(crate) fn before(self, ms: i64) -> Self {
        let watching_since = self.watching_since.saturating_sub(ms);
        Self { now: self.now.saturating_sub(ms), watching_since }
    }
}

/// What was picked: a tick, and what comes after it.
#[derive(Debug)]
pub(crate) struct Picked {
    pub(crate) tick: Tick,
    /// The one after it.
    pub(crate) successor: Result<Option<Occurrence>, Fault>,
}

/// Picks the tick to ask for, when `next`, the first one after `cursor`, is due.
///
/// The cost does not depend on how many ticks are due.
pub(crate) fn pick(
    job: &Definition,
    cursor: Timestamp,
    next: Occurrence,
    moment: Moment,
) -> Result<Picked, Fault> {
    let now = instant(moment.now.saturating_sub(job.splay_ms));
    let second = ticks::next(job, next.at());
    let newest = match &second {
        // Mostly there is just this one.
        Ok(second) if second.is_none_or(|second| second.at() > now) => next,
        _ => ticks::newest(job, cursor, now)?.unwrap_or(next).max(next),
    };
    let missed = |tick: Occurrence| tick.as_millisecond() + job.splay_ms < moment.watching_since;
    let (occurrence, patient) = match job.misfire {
        Misfire::All { max } if max > 0 && (newest != next || missed(newest)) => {
            (oldest_of(job, cursor, next, newest, max)?, true)
        }
        _ => (newest, false),
    };
    let late = moment.now - (occurrence.as_millisecond() + job.splay_ms);
    let too_late = job.start_within.is_some_and(|limit| i128::from(late) > millis(limit));
    let unwanted = match job.misfire {
        // The newest of several may be due just now: it is not missed by who was busy with another.
        Misfire::Skip | Misfire::All { max: 0 } => missed(occurrence),
        Misfire::All { .. } | Misfire::Once => false,
    };
    let intent = if too_late || unwanted { Intent::Skip(SkipReason::Misfire) } else { Intent::Run };
    // Nothing waits behind a tick that is only passed over.
    let tick = Tick { occurrence, intent, patient: patient && intent == Intent::Run };
    let successor = if occurrence == next { second } else { ticks::next(job, occurrence.at()) };
    Ok(Picked { tick, successor })
}

/// The oldest of the newest `max` ticks after `cursor`, `newest` among them.
fn oldest_of(
    job: &Definition,
    cursor: Timestamp,
    next: Occurrence,
    newest: Occurrence,
    max: u32,
) -> Result<Occurrence, Fault> {
    let max = u64::from(max).clamp(1, ticks::COUNT_LIMIT);
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
    let clamped = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(ms).unwrap_or(clamped)
}

fn millis(duration: std::time::Duration) -> i128 {
    i128::try_from(duration.as_millis()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Job, JobBuilder};

    const DAY: i64 = 86_400_000;

    fn job(change: impl FnOnce(JobBuilder) -> JobBuilder) -> Definition {
        let job = Job::new("j").every(Duration::from_secs(60)).unwrap();
        Definition::check(change(job).run(|_| async {})).unwrap()
    }

    /// What is picked, as minutes, when the ticks from minute 1 on are due.
    fn picked(job: &Definition, now: i64, watching_since: i64) -> (i64, bool, bool) {
        let next = Occurrence::from_millisecond(DAY + 60_000).unwrap();
        let moment = Moment { now: DAY + now, watching_since: DAY + watching_since };
        let Picked { tick, successor } = pick(job, instant(DAY), next, moment).unwrap();
        let minute_later = tick.occurrence.as_millisecond() + 60_000;
        assert_eq!(successor.unwrap(), Occurrence::from_millisecond(minute_later));
        let minute = (tick.occurrence.as_millisecond() - DAY) / 60_000;
        (minute, tick.intent == Intent::Run, tick.patient)
    }

    #[test]
    fn a_tick_found_in_time_is_run_under_every_policy() {
        for misfire in [Misfire::Once, Misfire::Skip, Misfire::All { max: 3 }] {
            let job = job(|job| job.misfire(misfire));
            assert_eq!(picked(&job, 60_001, 0), (1, true, false), "{misfire:?}");
        }
    }

    #[test]
    fn of_missed_ticks_the_policy_picks() {
        let (now, since) = (10 * 60_000 + 30_000, 10 * 60_000 + 20_000);
        let with = |misfire| picked(&job(|job| job.misfire(misfire)), now, since);
        assert_eq!(with(Misfire::Once), (10, true, false));
        assert_eq!(with(Misfire::Skip), (10, false, false));
        assert_eq!(with(Misfire::All { max: 3 }), (8, true, true));
        assert_eq!(with(Misfire::All { max: 99 }), (1, true, true));
        assert_eq!(with(Misfire::All { max: 0 }), (10, false, false));
    }

    #[test]
    fn of_several_ticks_that_are_due_the_newest_is_not_missed_by_who_was_watching() {
        for misfire in [Misfire::Once, Misfire::Skip, Misfire::All { max: 0 }] {
            let job = job(|job| job.misfire(misfire));
            assert_eq!(picked(&job, 120_001, 0), (2, true, false), "{misfire:?}");
        }
    }

    #[test]
    fn start_within_counts_from_the_splayed_instant() {
        let plain = |now| picked(&job(|job| job.start_within(Duration::from_secs(20))), now, now);
        assert_eq!(plain(80_000), (1, true, false));
        assert_eq!(plain(80_001), (1, false, false));
        let splayed =
            job(|job| job.splay(Duration::from_secs(40)).start_within(Duration::from_secs(20)));
        let part = splayed.splay_ms;
        assert!((1..40_000).contains(&part), "{part}");
        assert_eq!(picked(&splayed, 80_000 + part, 0), (1, true, false));
        assert_eq!(picked(&splayed, 80_001 + part, 0), (1, false, false));
    }
}
