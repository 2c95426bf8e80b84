//! Conformance suite, fault and skew wrappers for backends of [tidelock].

pub mod conformance;
pub mod faults;
mod link;
mod spawner;

pub use faults::{Chaos, Fault, Faults, Op};
pub use link::Link;
pub use spawner::NodeSpawner;
// The clock with skew, drift and steps lives with the trait.
pub use tidelock::TestClock;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
