//! Random calls have the same outcomes on the memory backend and on etcd.

use std::sync::Arc;
use std::time::Duration;

use tidelock::Backend;
use tidelock_etcd::EtcdBackend;
use tidelock_tests::differential::{Differential, KEEP, Times};
use tidelock_tests::servers::{EtcdServer, namespace};

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn random_calls_have_the_same_outcomes_in_memory_and_on_etcd() {
    // The smallest TTL; the server looks for what has expired every half second.
    let times = Times { brief: ms(2_000), wait: ms(3_300), sure: ms(1_500) };
    Differential { times, cases: 40, closes: false }.run(|| async {
        let endpoints = EtcdServer::shared().endpoints().join(",");
        let etcd = EtcdBackend::builder(namespace()).keep(KEEP).operation_timeout(ms(5_000));
        Arc::new(etcd.connect_lazy(&endpoints).unwrap()) as Arc<dyn Backend>
    });
}
