//! The conformance suite, on a live server.

use std::time::Duration;

use async_trait::async_trait;
use tidelock_redis::RedisBackend;
use tidelock_tests::conformance::{Factory, Fresh, Limits};
use tidelock_tests::servers::{RedisServer, namespace};

struct Redis;

#[async_trait]
impl Factory for Redis {
    async fn fresh(&self, limits: Limits) -> Fresh {
        let keep = u32::try_from(limits.keep).expect("a small number");
        let backend = RedisBackend::builder(namespace())
            .keep(keep)
            .max_age(limits.max_age)
            .operation_timeout(Duration::from_secs(10)) // a busy machine is no failure
            .connect_timeout(Duration::from_secs(5))
            .connect_lazy(&RedisServer::shared().url());
        Fresh::native(backend.expect("a backend"))
    }

    fn shortest_ttl(&self) -> Duration {
        Duration::from_millis(300)
    }

    fn slack(&self) -> Duration {
        Duration::from_millis(100)
    }
}

tidelock_tests::conformance!(Redis);
