//! Five processes, killed and restarted at random, over three members.

use std::time::Duration;

use tidelock_etcd::EtcdBackend;
use tidelock_tests::live::history_of;
use tidelock_tests::processes::Processes;
use tidelock_tests::servers::{EtcdCluster, EtcdSettings, namespace};
use tokio::time::sleep;

#[tokio::test]
async fn killed_processes_repeat_no_tick_and_every_run_is_accounted_for() {
    let cluster = EtcdCluster::start(EtcdSettings::new());
    let (endpoints, name) = (cluster.endpoints().join(","), namespace());
    let mut nodes =
        Processes::start(&["--etcd", &endpoints, "--namespace", &name, "--ttl", "3000"]);
    let members = async {
        sleep(Duration::from_secs(15)).await;
        cluster.member(cluster.leader()).kill();
        sleep(Duration::from_secs(10)).await;
        cluster.restart();
        sleep(Duration::from_secs(10)).await;
        cluster.move_leader((cluster.leader() + 1) % 3);
    };
    tokio::join!(nodes.live_dangerously(Duration::from_secs(60)), members);
    let backend = EtcdBackend::builder(&name).connect_lazy(&endpoints).unwrap();
    println!("{}", nodes.account(&history_of(&backend, "example").await));
}
