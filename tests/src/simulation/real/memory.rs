//! The venue of simulations: a backend in this process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{Backend, Clock};
use tidelock_memory::MemoryBackend;

use super::venue::{Route, Venue};

/// A memory backend. Nothing happens on the way to it but what happens to calls.
#[derive(Clone, Debug)]
pub(crate) struct Memory(MemoryBackend);

impl Memory {
    pub(crate) fn new(clock: impl Clock) -> Self {
        Self(MemoryBackend::new().keep(usize::MAX).max_age(Duration::MAX).with_clock(clock))
    }
}

#[async_trait]
impl Venue for Memory {
    async fn route(&self) -> Arc<dyn Route> {
        Arc::new(self.clone())
    }

    fn reader(&self) -> Arc<dyn Backend> {
        Arc::new(self.0.clone())
    }
}

impl Route for Memory {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(self.0.clone())
    }
}
