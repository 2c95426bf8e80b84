//! What a real server, a real network and their failures do to the backend.
//!
//! Each file is one theme, each test a sentence that says what it proves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bench;
mod corrupt;
mod counting;
mod fleets;
mod full;
mod histories;
mod loading;
mod network;
mod races;
mod reconnects;
mod recovery;
mod refusals;
mod replicas;
mod restarts;
mod setup;
mod storage;
mod urls;
