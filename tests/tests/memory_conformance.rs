//! The memory backend passes every case, in mocked time.

use std::time::Duration;

use async_trait::async_trait;
use tidelock_memory::MemoryBackend;
use tidelock_tests::conformance::{Factory, Fresh, Limits};

struct Memory;

#[async_trait]
impl Factory for Memory {
    async fn fresh(&self, limits: Limits) -> Fresh {
        Fresh::native(MemoryBackend::new().keep(limits.keep).max_age(limits.max_age))
    }

    fn shortest_ttl(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn slack(&self) -> Duration {
        Duration::from_millis(2)
    }

    fn in_paused_time(&self) -> bool {
        true
    }
}

tidelock_tests::conformance!(Memory);
