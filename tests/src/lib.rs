//! For whoever writes a backend of [tidelock], or tests a service that uses it.
//!
//! - [`conformance`](mod@conformance): what makes a backend one, as named tests for any backend,
//!   yours too.
//! - `differential` (feature): random calls to a backend and to the memory backend, compared.
//! - [`Faults`]: a node's way to a backend, with failures, delays and lost replies, scripted or by
//!   a seed; its [`Link`] cuts the node off.
//! - [`NodeSpawner`]: freezes or kills a node whole.
//! - [`fleet`]: whole nodes in real time over a real server, and checks of what they did.
//! - `servers`, `live` and `processes` (features `redis` and `etcd`): real servers for tests, short
//!   words for what tests ask of them, and nodes as processes that are killed.
//! - [`TestClock`]: a clock with skew, drift and steps, over tokio's time.

pub mod conformance;
#[cfg(feature = "differential")]
pub mod differential;
pub mod faults;
pub mod fleet;
mod link;
#[cfg(any(feature = "redis", feature = "etcd"))]
pub mod live;
#[cfg(any(feature = "redis", feature = "etcd"))]
pub mod processes;
#[cfg(any(feature = "redis", feature = "etcd"))]
pub mod servers;
pub mod simulation;
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
