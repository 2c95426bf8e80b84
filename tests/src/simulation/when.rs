//! Schedules as plain data.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{Occurrences, OnGap, OnRepeat, Schedule, ScheduleError};

/// A schedule of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// A period, aligned to the epoch.
    Every(u64),
    /// A period from an anchor.
    EveryFrom(u64, Timestamp),
    /// A cron expression in a zone.
    Cron {
        /// The expression.
        text: String,
        /// The zone; `None` is UTC.
        zone: Option<&'static str>,
        /// What a gap does to it, if not what its kind says.
        gap: Option<OnGap>,
        /// What a repeated hour does to it.
        repeat: Option<OnRepeat>,
    },
    /// One instant.
    Once(Timestamp),
    /// A schedule of a user's own: steps that grow and start again.
    Uneven(u64),
}

impl When {
    /// A cron expression.
    pub fn cron(text: impl Into<String>, zone: Option<&'static str>) -> Self {
        Self::Cron { text: text.into(), zone, gap: None, repeat: None }
    }

    /// The schedule.
    ///
    /// # Errors
    ///
    /// What a user would hear of such a schedule.
    pub fn schedule(&self) -> Result<Schedule, ScheduleError> {
        Ok(match self {
            Self::Every(ms) => Schedule::every(Duration::from_millis(*ms))?,
            Self::EveryFrom(ms, anchor) => {
                Schedule::every_from(Duration::from_millis(*ms), *anchor)?
            }
            Self::Cron { text, zone, gap, repeat } => {
                let mut schedule = Schedule::cron(text)?;
                if let Some(zone) = zone {
                    schedule = schedule.time_zone(zone)?;
                }
                if let Some(gap) = gap {
                    schedule = schedule.on_gap(*gap);
                }
                if let Some(repeat) = repeat {
                    schedule = schedule.on_repeat(*repeat);
                }
                schedule
            }
            Self::Once(at) => Schedule::once(*at),
            Self::Uneven(ms) => Schedule::custom(Uneven(*ms)),
        })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(ms) => write!(f, "every {ms} ms"),
            Self::EveryFrom(ms, anchor) => write!(f, "every {ms} ms from {anchor}"),
            Self::Cron { text, zone, .. } => write!(f, "`{text}` in {}", zone.unwrap_or("UTC")),
            Self::Once(at) => write!(f, "once at {at}"),
            Self::Uneven(ms) => write!(f, "uneven steps of {ms} ms"),
        }
    }
}

/// Ticks 1, 2, 4, 7 and 11 steps into each sixteen.
#[derive(Debug)]
struct Uneven(u64);

impl Occurrences for Uneven {
    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        let step = i64::try_from(self.0).ok()?;
        let round = step * 16;
        let begin = t.as_millisecond().div_euclid(round) * round;
        let ticks = [1, 2, 4, 7, 11, 17].map(|n| begin + n * step);
        let at = |ms| Timestamp::from_millisecond(ms).ok();
        ticks.into_iter().filter_map(at).find(|tick| *tick > t)
    }

    fn name(&self) -> String {
        format!("uneven {}", self.0)
    }
}

/// The ticks of a schedule later than `after` and not later than `through`.
pub(crate) fn ticks(schedule: &Schedule, after: Timestamp, through: Timestamp) -> Vec<Timestamp> {
    let mut ticks = Vec::new();
    let mut at = after;
    while let Some(tick) = schedule.next_after(at).filter(|tick| *tick <= through) {
        ticks.push(tick);
        at = tick;
    }
    ticks
}

/// As milliseconds: as many as can be told, where there are more.
pub(crate) fn whole_ms(duration: SignedDuration) -> i64 {
    let most = if duration.is_negative() { i64::MIN } else { i64::MAX };
    i64::try_from(duration.as_millis()).unwrap_or(most)
}

/// A signed number of milliseconds.
pub(crate) fn signed_ms(ms: i64) -> SignedDuration {
    SignedDuration::from_millis(ms)
}
