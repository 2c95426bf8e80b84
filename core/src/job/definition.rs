//! A job as the engine holds it: checked, with all defaults worked out.

use std::time::Duration;

use super::handler::Handler;
use super::{Job, JobError, Misfire};
use crate::Schedule;
use crate::lock::LockKey;
use crate::{Fingerprint, JobId, Occurrence};

const DEFAULT_TTL: Duration = Duration::from_secs(30);
const MIN_TTL: Duration = Duration::from_millis(100);
const DEFAULT_START_WITHIN: Duration = Duration::from_secs(3600);
/// What a fixed lease has beyond its timeout, at least.
const FIXED_LEASE_MARGIN: Duration = Duration::from_secs(30);
/// About 100 years: room to add to any instant of use.
const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 86_400);

#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) id: JobId,
    pub(crate) key: LockKey,
    pub(crate) schedule: Schedule,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) timeout: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) ttl: Duration,
    pub(crate) renewed: bool,
    pub(crate) misfire: Misfire,
    /// How late a tick may start; `None`: without limit.
    pub(crate) start_within: Option<Duration>,
    /// By how much each tick starts later than its instant, in milliseconds.
    pub(crate) splay_ms: i64,
    pub(crate) force_release: bool,
    pub(crate) handler: Handler,
}

impl Definition {
    /// When a tick is due, in milliseconds, by the clock that it is planned by.
    pub(crate) fn due_at(&self, tick: Occurrence) -> i64 {
        tick.as_millisecond().saturating_add(self.splay_ms)
    }

    pub(crate) fn check(job: Job) -> Result<Self, JobError> {
        let Job { settings, handler } = job;
        let id = JobId::new(&settings.id)?;
        let Some(schedule) = settings.schedule else {
            return Err(JobError::NoSchedule(id));
        };
        let ranges: [(&'static str, Option<Duration>, Duration, &'static str); 5] = [
            ("lock_ttl", settings.lock_ttl, MIN_TTL, "100 ms to 100 years"),
            ("timeout", settings.timeout, Duration::from_millis(1), "1 ms to 100 years"),
            ("grace", Some(settings.grace), Duration::ZERO, "at most 100 years"),
            ("start_within", settings.start_within, Duration::ZERO, "at most 100 years"),
            ("splay", Some(settings.splay), Duration::ZERO, "at most 100 years"),
        ];
        for (what, found, least, expected) in ranges {
            if let Some(found) = found.filter(|d| *d < least || *d > MAX_DURATION) {
                return Err(JobError::Duration { job: id, what, found, expected });
            }
        }
        if settings.fixed_lease && handler.is_blocking() {
            return Err(JobError::FixedLeaseBlocking(id));
        }
        let ttl = match (settings.lock_ttl, settings.fixed_lease, settings.timeout) {
            (Some(ttl), _, _) => ttl,
            (None, false, _) => DEFAULT_TTL,
            // The run is told to stop at 4/5 of the TTL: its timeout and grace come before that.
            (None, true, Some(timeout)) => {
                (timeout + FIXED_LEASE_MARGIN).max((timeout + settings.grace) * 5 / 4)
            }
            (None, true, None) => return Err(JobError::FixedLeaseUnbounded(id)),
        };
        let start_within = match settings.misfire {
            Misfire::All { .. } => settings.start_within,
            _ => Some(settings.start_within.unwrap_or(DEFAULT_START_WITHIN)),
        };
        Ok(Self {
            key: LockKey::of(&id),
            fingerprint: schedule.fingerprint(),
            timeout: settings.timeout,
            grace: settings.grace,
            ttl,
            renewed: !settings.fixed_lease,
            misfire: settings.misfire,
            start_within,
            splay_ms: splay(&id, settings.splay),
            force_release: settings.force_release,
            schedule,
            handler,
            id,
        })
    }
}

/// The job's part of `max`, in whole milliseconds: a hash of its id, so that all nodes agree.
fn splay(id: &JobId, max: Duration) -> i64 {
    let max = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
    // FNV-1a: the same in every process and release, unlike the standard library's hash.
    let hash = id.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The high bits: FNV's low ones differ little between ids that differ in their last byte.
    let part = (u128::from(hash.rotate_left(32)) * u128::from(max)) >> 64;
    i64::try_from(part).unwrap_or(i64::MAX)
}
