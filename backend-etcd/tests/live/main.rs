//! What a real cluster, a real network and their failures do to the backend.
//!
//! Each file is one theme, each test a sentence that says what it proves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bench;
mod clock;
mod combined;
mod compaction;
mod counting;
mod full;
mod leases;
mod members;
mod network;
mod pool;
mod quorum;
mod refusals;
mod restarts;
mod users;
