//! Five processes, killed and restarted at random, over one server.

use std::time::Duration;

use tidelock::{JobId, RecordQuery, RecordStore};
use tidelock_redis::RedisBackend;
use tidelock_tests::processes::Processes;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};

#[tokio::test]
async fn killed_processes_repeat_no_tick_and_every_run_is_accounted_for() {
    let server = RedisServer::start(RedisSettings::new());
    let (url, name) = (server.url(), namespace());
    let mut nodes = Processes::start(&["--redis", &url, "--namespace", &name, "--ttl", "2000"]);
    nodes.live_dangerously(Duration::from_secs(60)).await;
    let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
    let query = RecordQuery::newest(JobId::new("example").unwrap(), 1_000);
    println!("{}", nodes.account(&backend.list(&query).await.unwrap()));
}
