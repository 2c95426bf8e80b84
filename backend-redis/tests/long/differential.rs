//! Random calls have the same outcomes on the memory backend and on Redis.

use std::sync::Arc;
use std::time::Duration;

use tidelock::Backend;
use tidelock_redis::RedisBackend;
use tidelock_tests::differential::{Differential, KEEP, Times};
use tidelock_tests::servers::{RedisServer, namespace};

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn random_calls_have_the_same_outcomes_in_memory_and_on_redis() {
    let times = Times { brief: ms(250), wait: ms(350), sure: ms(150) };
    Differential { times, cases: 60, closes: true }.run(|| async {
        let redis = RedisBackend::builder(namespace()).keep(KEEP);
        let redis = redis.connect_lazy(&RedisServer::shared().url()).unwrap();
        Arc::new(redis) as Arc<dyn Backend>
    });
}
