//! Schedules: when a job is due.
//!
//! A [`Schedule`] is a pure function of time: it knows no clock and no state, so every node of a
//! fleet works out the same ticks by itself.
//!
//! # The cron dialect
//!
//! Five fields (minute, hour, day of month, month, day of week), six (second first) or seven (year
//! last), as robfig/cron v3 for Go has them, widened. The number of fields alone decides; nothing
//! is filled in or left over.
//!
//! | written | means |
//! |---|---|
//! | `*`, `*/5` | every value; every fifth from the field's first |
//! | `7`, `1-5`, `10-50/20`, `1,15,30` | a value, a range with both ends, with a step, a list |
//! | `5/15` | from 5 to the end of the field by 15: 5, 20, 35, 50 |
//! | `MON`, `jan` | three-letter names of any case, in their own fields |
//! | `0` and `7` | Sunday, in the day-of-week field |
//! | `FRI-MON`, `5-1` | wraps round Saturday, in the day-of-week field only |
//! | `?` | the same as `*`, as a whole day field only |
//! | `L`, `LW` | the last day of the month; its last Monday to Friday |
//! | `15W` | the Monday to Friday nearest to the 15th within the month |
//! | `5L`, `FRI#2` | the last Friday of the month; its second Friday |
//! | `@hourly @daily @midnight @weekly @monthly @yearly @annually` | as everywhere |
//! | `@every 1h30m` | [`Schedule::every`]; units `h`, `m`, `s`, `ms` |
//! | `TZ=Asia/Tokyo 0 9 * * *`, `CRON_TZ=...` | the zone of the schedule; wins over [`Schedule::time_zone`] |
//!
//! Where both day fields are restricted, a day that matches either matches. A field is a
//! restriction unless it is `*`, `?` or `*/1`: `*/2` is one and so is `1-31`, as in robfig/cron.
//! Vixie cron differs in that a field which only begins with `*` is none.
//!
//! An expression has at most 1,024 bytes, and one that can never fire (30 February) is an error.
//!
//! # Changes of the clocks
//!
//! A schedule follows the wall clock of its zone, UTC unless it says otherwise. The rules for the
//! two nights a year are Vixie cron's, and a schedule may choose others: see [`OnGap`] and
//! [`OnRepeat`]. Zone data is compiled in, so that nodes of one build agree.

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
