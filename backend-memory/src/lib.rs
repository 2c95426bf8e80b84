//! In-memory backend of [tidelock]: for tests, and for the schedulers of one process.
//!
//! [`MemoryBackend`] plays the server: any number of schedulers in one process share it, and what
//! the contracts ask of a server it does in full. It takes and consumes ticks in one atomic step,
//! expires locks, keeps histories within their limits, and has a clock of its own. `begin` and
//! `finish` are one step each.
//!
//! It forgets everything when the process ends: a tick that ran before a restart may run again
//! after it. A fleet of more than one process needs one of the networked backends.
//!
//! Locks expire, and histories age, by tokio's time, so that under paused time a test sees a TTL
//! pass without waiting for it.
//!
//! ```
//! use tidelock::{Acquisition, AcquireRequest, Fingerprint, Holder, JobId, LockBackend, LockKey};
//! use tidelock::{NodeId, Occurrence, RunId};
//! use tidelock_memory::MemoryBackend;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = MemoryBackend::new().keep(10);
//! let ask = |node: &str, number| -> Result<AcquireRequest, tidelock::IdError> {
//!     let node = NodeId::new(node)?;
//!     Ok(AcquireRequest::new(
//!         LockKey::of(&JobId::new("settlement")?),
//!         Holder::new(&node, number),
//!         RunId::new(number),
//!         node,
//!         Occurrence::from_millisecond(1_767_225_600_000),
//!         Fingerprint::new(1),
//!         std::time::Duration::from_secs(30),
//!     ))
//! };
//!
//! let first = server.acquire(&ask("a", 1)?).await?.value;
//! assert!(matches!(first, Acquisition::Granted(_)));
//! let second = server.clone().acquire(&ask("b", 2)?).await?.value;
//! assert!(matches!(second, Acquisition::AlreadyTaken(_)));
//! # Ok(())
//! # }
//! ```

mod acquire;
mod backend;
mod config;
mod hash;
mod locks;
mod moment;
mod records;
mod store;

pub use backend::MemoryBackend;
