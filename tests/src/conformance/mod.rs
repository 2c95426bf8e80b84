//! The conformance suite: what makes a backend one, as cases that any backend can run.
//!
//! Every numbered line of the contracts of [`LockBackend`], [`RecordStore`] and [`Backend`] has
//! cases, named for what they show: `lock_13_...` is about line 13 of `LockBackend`. One line in a
//! test of the backend's own makes each of them a named test, in two passes: through its own
//! `begin` and `finish`, and through those of [`Combined`](tidelock::Combined) over its halves.
//!
//! ```
//! use std::time::Duration;
//! use async_trait::async_trait;
//! use tidelock_memory::MemoryBackend;
//! use tidelock_tests::conformance::{Factory, Fresh, Limits};
//!
//! struct Memory;
//!
//! #[async_trait]
//! impl Factory for Memory {
//!     async fn fresh(&self, limits: Limits) -> Fresh {
//!         Fresh::native(MemoryBackend::new().keep(limits.keep).max_age(limits.max_age))
//!     }
//!     fn shortest_ttl(&self) -> Duration {
//!         Duration::from_secs(1)
//!     }
//!     fn slack(&self) -> Duration {
//!         Duration::from_millis(2)
//!     }
//!     fn in_paused_time(&self) -> bool {
//!         true
//!     }
//! }
//!
//! tidelock_tests::conformance!(Memory);
//! ```
//!
//! Whoever implements the first two traits alone writes `conformance!(combined: Mine)`.
//!
//! No case counts on paused time: timing cases wait for the backend's shortest TTL and its slack.
//! A case is one function and one line in the list.
//!
//! [`LockBackend`]: tidelock::LockBackend
//! [`RecordStore`]: tidelock::RecordStore
//! [`Backend`]: tidelock::Backend

mod bench;
pub mod cases;
mod factory;
mod list;
mod suite;

pub use bench::Bench;
pub use factory::{Factory, Fresh, Limits};
pub use list::CASES;
pub use suite::{Pass, Suite, check};
