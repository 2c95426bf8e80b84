//! The conformance suite, on a live server.

use std::time::Duration;

use async_trait::async_trait;
use tidelock_etcd::EtcdBackend;
use tidelock_tests::conformance::{Factory, Fresh, Limits};
use tidelock_tests::servers::{EtcdServer, namespace};

struct Etcd;

#[async_trait]
impl Factory for Etcd {
    async fn fresh(&self, limits: Limits) -> Fresh {
        let keep = u32::try_from(limits.keep).expect("a small number");
        let backend = EtcdBackend::builder(namespace())
            .keep(keep)
            .max_age(limits.max_age)
            .operation_timeout(Duration::from_secs(10)) // a busy machine is no failure
            .connect_timeout(Duration::from_secs(5))
            .connect_lazy(&EtcdServer::shared().endpoints().join(","));
        Fresh::native(backend.expect("a backend"))
    }

    // The smallest that the server grants.
    fn shortest_ttl(&self) -> Duration {
        Duration::from_secs(2)
    }

    // It looks for what has expired every half second, and tells lives in whole seconds.
    fn slack(&self) -> Duration {
        Duration::from_secs(1)
    }
}

tidelock_tests::conformance!(Etcd);
