//! Scenarios in mocked time: several nodes in one runtime over one memory backend.
//!
//! Each file is one theme, each test a sentence that says what it proves.

mod fleet;
mod once_per_tick;
