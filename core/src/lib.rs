//! Cron for a fleet.

pub mod schedule;

pub use schedule::{
    Effect, ExplainedTick, Field, Fingerprint, Occurrences, OnGap, OnRepeat, ParseFingerprintError,
    Schedule, ScheduleError, ScheduleErrorKind, TickCount,
};
