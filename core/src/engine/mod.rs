//! The engine: finds ticks due, asks for them, runs what is granted, and records what happened.
//!
//! One task, the [`ticker`], takes due ticks from the one ordered queue and starts a task for
//! each; that task asks the backend ([`ask`], [`answer`]) and, if the tick is granted, runs the handler
//! ([`run`]) beside a watchdog that keeps the lock. Everything is spawned through one seam.

mod answer;
mod ask;
mod asking;
mod backoff;
mod calls;
mod clock_watch;
mod core;
mod ending;
mod events;
mod hash;
mod live;
mod looks;
mod manual;
mod misfire;
mod not_run;
mod outbox;
mod plan;
mod pulse;
mod reading;
mod run;
mod settle;
mod shield;
mod skew;
mod table;
mod ticker;
mod ticks;
mod told;

pub(crate) use self::core::{Core, Parts};
pub use self::events::{Event, EventKind, EventStream};
pub(crate) use self::live::LiveRun;
pub use self::manual::RunNowError;
pub(crate) use self::not_run::{records_of, skipped};
pub(crate) use self::shield::shielded;
pub use self::skew::Skew;
pub(crate) use self::table::Entry;
pub(crate) use self::ticker::run as tick;
pub(crate) use self::ticks::{Fault, next as next_tick};
