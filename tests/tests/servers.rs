//! The servers for tests are what tests take them for.

#![cfg(feature = "etcd")]

use std::time::Duration;

use tidelock_tests::servers::{Certificates, EtcdCluster, EtcdServer, EtcdSettings};

#[test]
fn a_shared_server_is_one_and_answers() {
    assert!(std::ptr::eq(EtcdServer::shared(), EtcdServer::shared()));
    let server = EtcdServer::shared_here();
    let before = server.received("LeaseGrant");
    assert!(server.post("lease/grant", r#"{"TTL":"5"}"#).contains(r#""TTL":"5""#));
    assert_eq!(server.received("LeaseGrant"), before + 1);
}

#[test]
fn what_a_killed_server_had_stored_is_there_after_its_restart() {
    let server = EtcdServer::start(EtcdSettings::new());
    server.post("kv/put", r#"{"key":"YQ==","value":"Yg=="}"#);
    server.kill();
    assert!(std::net::TcpStream::connect(server.address()).is_err());
    server.restart();
    assert!(server.post("kv/range", r#"{"key":"YQ=="}"#).contains("Yg=="));
}

#[test]
fn a_cluster_has_a_leader_that_can_be_moved_and_killed() {
    let cluster = EtcdCluster::start(EtcdSettings::new());
    assert_eq!(cluster.endpoints().len(), 3);
    let first = cluster.leader();
    let second = (first + 1) % 3;
    cluster.move_leader(second);
    assert_eq!(cluster.leader(), second);
    cluster.member(second).kill();
    let third = cluster.leader();
    assert_ne!(third, second);
    cluster.member(third).kill();
    cluster.restart();
    let _ = cluster.leader();
}

#[test]
fn users_and_certificates_are_asked_for_where_a_test_wants_it() {
    let settings = EtcdSettings::new().with("auth-token", "simple");
    let server = EtcdServer::start(settings);
    server.enable_auth("right");
    assert!(
        server.post("auth/authenticate", r#"{"name":"root","password":"right"}"#).contains("token")
    );

    let made = Certificates::new();
    let server = EtcdServer::start(EtcdSettings::new().tls(&made));
    let endpoints = server.endpoints();
    assert!(endpoints[0].starts_with("https://"), "{endpoints:?}");
}

/// Runs this very test again as a process that is killed.
#[test]
fn servers_and_their_folders_end_with_their_process_however_it_ends() {
    const CHILD: &str = "TIDELOCK_TEST_IS_CHILD";
    let name = "servers_and_their_folders_end_with_their_process_however_it_ends";
    if std::env::var(CHILD).is_ok() {
        let server = EtcdServer::start(EtcdSettings::new());
        println!("\n{} {}", std::process::id(), server.address().port());
        std::mem::forget(server);
        std::process::abort();
    }
    let child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args([name, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .stderr(std::process::Stdio::null())
        .output();
    let child = child.expect("this program");
    assert!(!child.status.success());
    let said = String::from_utf8_lossy(&child.stdout);
    let mut numbers = said.lines().filter_map(|line| line.split_once(' ')?.0.parse().ok());
    let process: u32 = numbers.next().expect("a process id");
    let folder = format!("tidelock-etcd-{process}-");
    let left = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).expect("the folder for them");
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.find(|name| name.to_string_lossy().starts_with(&folder))
    };
    let mut tries = 0;
    while left().is_some() && tries < 100 {
        std::thread::sleep(Duration::from_millis(20));
        tries += 1;
    }
    assert_eq!(left(), None);
    let port = said.lines().find_map(|line| line.split_once(' ')?.1.parse().ok());
    let port: u16 = port.expect("a port");
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}
