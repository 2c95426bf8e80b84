//! Five containers and three members on a network that is cut: see the README of the tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::Path;
use std::time::Duration;

use tidelock_etcd::EtcdBackend;
use tidelock_tests::live::history_of;
use tidelock_tests::processes::{ContainedProcesses, Containers};

const MEMBERS: [&str; 3] = ["etcd-0", "etcd-1", "etcd-2"];

#[tokio::test]
#[ignore = "needs a container engine"]
async fn a_fleet_over_etcd_that_is_cut_apart_repeats_no_tick_and_every_run_is_accounted_for() {
    let containers = Containers::new();
    let image = containers.image(Path::new("etcd"));
    let all = MEMBERS.map(|name| format!("{name}=http://{name}:2380")).join(",");
    for name in MEMBERS {
        let command = [
            "etcd".to_owned(),
            format!("--name={name}"),
            "--data-dir=/data/etcd".to_owned(),
            "--listen-client-urls=http://0.0.0.0:2379".to_owned(),
            format!("--advertise-client-urls=http://{name}:2379"),
            "--listen-peer-urls=http://0.0.0.0:2380".to_owned(),
            format!("--initial-advertise-peer-urls=http://{name}:2380"),
            format!("--initial-cluster={all}"),
        ];
        containers.serve(&image, name, &command.each_ref().map(String::as_str));
    }
    let endpoints = MEMBERS.map(|name| format!("http://{name}:2379")).join(",");
    let node = ["--etcd", &endpoints, "--namespace", "contained", "--ttl", "3000"];
    let (seed, time) = ContainedProcesses::chosen(Duration::from_secs(60));
    let mut fleet = ContainedProcesses::start(&containers, seed, &node);
    fleet.live_dangerously(&MEMBERS, time).await;
    let from_here = MEMBERS.map(|name| format!("http://{}:2379", containers.address(name)));
    let backend = EtcdBackend::builder("contained").connect_lazy(&from_here.join(",")).unwrap();
    println!("{}", fleet.account(&history_of(&backend, "example").await));
}
