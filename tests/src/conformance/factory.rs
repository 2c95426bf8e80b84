//! What a backend gives to the suite.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{Backend, LockBackend, RecordStore};

/// Gives the suite fresh backends, and says how fast they are.
#[async_trait]
pub trait Factory: Send + Sync + 'static {
    /// A backend that nothing is stored in yet: each call gives another one (another namespace).
    ///
    /// It panics where there is no server, with a message that says how to get one.
    async fn fresh(&self, limits: Limits) -> Fresh;

    /// The shortest TTL that it keeps: locks expire, and histories age, in it and
    /// [`slack`](Self::slack).
    fn shortest_ttl(&self) -> Duration;

    /// How much later than its TTL a lock may expire, and how far two answers about time may be
    /// apart.
    fn slack(&self) -> Duration;

    /// Whether the cases run in tokio's paused time: for what lives in this process alone.
    /// Default: no.
    fn in_paused_time(&self) -> bool {
        false
    }
}

/// How much of a history the backend shall keep.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How many runs, and how many entries about ticks that did not run.
    pub keep: usize,
    /// For how long.
    pub max_age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { keep: 100, max_age: Duration::from_secs(7 * 24 * 60 * 60) }
    }
}

impl Limits {
    /// The same with that many records kept.
    #[must_use]
    pub fn keep(self, keep: usize) -> Self {
        Self { keep, ..self }
    }

    /// The same with that age.
    #[must_use]
    pub fn max_age(self, max_age: Duration) -> Self {
        Self { max_age, ..self }
    }
}

/// A fresh backend, and what has to live as long as it.
pub struct Fresh {
    pub(super) locks: Arc<dyn LockBackend>,
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) native: Option<Arc<dyn Backend>>,
    pub(super) guard: Option<Box<dyn Any + Send + Sync>>,
}

impl Fresh {
    /// A backend that implements all three traits.
    pub fn native(backend: impl Backend) -> Self {
        let backend = Arc::new(backend);
        Self {
            locks: backend.clone(),
            records: backend.clone(),
            native: Some(backend),
            guard: None,
        }
    }

    /// Two halves, for the pass through [`Combined`](tidelock::Combined) alone.
    pub fn halves(locks: impl LockBackend, records: impl RecordStore) -> Self {
        Self { locks: Arc::new(locks), records: Arc::new(records), native: None, guard: None }
    }

    /// The same with something that is dropped when the case is over.
    #[must_use]
    pub fn guarded(self, guard: impl Any + Send + Sync) -> Self {
        Self { guard: Some(Box::new(guard)), ..self }
    }
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh")
            .field("locks", &self.locks)
            .field("records", &self.records)
            .field("native", &self.native.is_some())
            .finish_non_exhaustive()
    }
}
