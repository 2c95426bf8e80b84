//! Fleets drawn from seeds: what is promised holds, and a seed tells all that happens.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod determinism;
mod doctored;
mod drawn;
mod kit;
mod kit_clocks;
mod kit_disturbed;
mod kit_lost;
mod kit_records;
mod kit_wrong_use;
mod rehearsals;
mod seeds;
