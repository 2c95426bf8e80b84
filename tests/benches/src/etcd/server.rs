//! The etcd server that is measured.

use std::time::Duration;

use etcd_client::{Client, CompactionOptions, KvClient};
use tidelock_tests::servers::EtcdServer;

use crate::load::Server;

/// A server, and its address.
pub(crate) struct Etcd {
    server: &'static EtcdServer,
    pub(crate) endpoints: String,
}

impl Etcd {
    /// The fixtures' one.
    pub(crate) fn shared() -> Self {
        let server = EtcdServer::shared_here();
        Self { server, endpoints: server.endpoints().join(",") }
    }

    /// A client as an application has it. It lives on the runtime that this is called in.
    pub(crate) async fn client(&self) -> Client {
        Client::connect([&self.endpoints], None).await.expect("a server that answers")
    }

    pub(crate) async fn kv(&self) -> KvClient {
        self.client().await.kv_client()
    }

    /// Has it forget what was deleted or written over, as clusters do from time to time.
    pub(crate) async fn compact(&self) {
        let mut kv = self.kv().await;
        let newest = kv.get("any", None).await.expect("an answer");
        let revision = newest.header().expect("a header").revision();
        let physical = CompactionOptions::new().with_physical();
        kv.compact(revision, Some(physical)).await.expect("a compaction");
    }

    /// How many transactions it has received.
    pub(crate) fn transactions(&self) -> u64 {
        self.server.received("Txn")
    }
}

impl Server for Etcd {
    async fn cpu(&self) -> Duration {
        let seconds = self.server.metric("process_cpu_seconds_total ");
        Duration::from_secs_f64(seconds.unwrap_or(0.0))
    }
}
