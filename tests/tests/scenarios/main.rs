//! Scenarios in mocked time: several nodes in one runtime over one memory backend.
//!
//! Each file is one theme, each test a sentence that says what it proves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod clock_steps;
mod fleet;
mod frozen;
mod hour_off;
mod lock_expiry;
mod node;
mod node_death;
mod once_per_tick;
mod panics;
mod plain_lock;
mod skew;
mod watchdog;
