//! Scenarios in mocked time: several nodes in one runtime over one memory backend.
//!
//! Each file is one theme, each test a sentence that says what it proves.

mod a_year;
mod control;
mod events;
mod fleet;
mod late_and_spread;
mod ledger;
mod misfires;
mod once_per_tick;
mod outages;
mod shutdown;
mod storms;
mod timeouts;
