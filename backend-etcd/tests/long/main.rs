//! What takes a minute and mostly waits: random calls, random fleets, processes that are killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod differential;
mod fleet;
mod processes;
