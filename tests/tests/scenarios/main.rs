//! Scenarios in mocked time: several nodes in one runtime over one memory backend.
//!
//! Each file is one theme, each test a sentence that says what it proves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod a_year;
mod after_an_outage;
mod backend_clock;
mod clock_jumps;
mod clock_steps;
mod context;
mod control;
mod events;
mod fail_closed;
mod far_ahead;
mod field_reports_d;
mod first_look;
mod fleet;
mod frozen;
mod half_failed;
mod hour_off;
mod in_a_row;
mod isolation;
mod late_and_spread;
mod late_looks;
mod ledger;
mod lock_expiry;
mod lost_replies;
mod misfires;
mod node;
mod node_death;
mod not_yet_due;
mod once_per_tick;
mod operator;
mod outages;
mod panics;
mod plain_lock;
mod queued;
mod records;
mod records_away;
mod replaced;
mod same_name;
mod shutdown;
mod skew;
mod storms;
mod taken_out;
mod timeouts;
mod unheard;
mod unstoppable;
mod untold;
mod watchdog;
mod ways;
