//! Schedules: when a job is due.
//!
//! A [`Schedule`] is a pure function of time: it knows no clock and no state, so every node of a
//! fleet works out the same ticks by itself.

mod between;
mod civil;
mod cron;
mod custom;
mod date;
mod days;
mod describe;
mod dialect;
mod error;
mod every;
mod explain;
mod field;
mod fingerprint;
#[allow(clippy::module_inception)] // the type the folder is about
mod schedule;
mod shift;
mod zone;

pub use between::TickCount;
pub use custom::Occurrences;
pub use error::{ScheduleError, ScheduleErrorKind};
pub use explain::{Effect, ExplainedTick};
pub use field::Field;
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use schedule::Schedule;
pub use shift::{OnGap, OnRepeat};
