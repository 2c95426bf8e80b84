//! TLS: `cargo test -p tidelock-etcd --all-features --test flavours`.

#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::time::Duration;

use tidelock::{ErrorKind, RunState};
use tidelock_etcd::EtcdBackend;
use tidelock_tests::fleet::Seen;
use tidelock_tests::live::{ask, finish, granted, history, ms};
use tidelock_tests::servers::{Certificates, EtcdCluster, EtcdServer, EtcdSettings, namespace};
use tokio::time::Instant;

#[tokio::test]
async fn tls_with_an_authority_and_a_client_certificate() {
    let made = Certificates::new();
    let server = EtcdServer::start(EtcdSettings::new().tls(&made));
    let endpoints = server.endpoints().join(",");
    let fresh = || EtcdBackend::builder(namespace());
    let known = || fresh().ca_certificate(made.read("ca.crt"));
    let backend = known()
        .client_certificate(made.read("client.crt"), made.read("client.key"))
        .connect(&endpoints)
        .await
        .unwrap();
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    finish(&backend, &request, &grant.lease).await.unwrap();
    assert_eq!(history(&backend).await[0].state, RunState::Succeeded);
    assert!(!format!("{backend:?}").contains("KEY"));

    // A server that nobody vouches for, a client without a certificate, and a port without TLS.
    let asked = Instant::now();
    let unknown = fresh().connect(&endpoints).await.unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::Misconfigured, "{unknown:?}");
    assert!(known().connect(&endpoints).await.is_err());
    let plain = EtcdServer::shared_here().endpoints().join(",").replace("http:", "https:");
    assert!(known().connect(&plain).await.is_err());
    // And a port with TLS that is asked without.
    assert!(fresh().connect(&endpoints.replace("https:", "http:")).await.is_err());
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn a_cluster_with_tls_goes_on_without_a_member() {
    let made = Certificates::new();
    let cluster = EtcdCluster::start(EtcdSettings::new().tls(&made));
    let seen = Seen::default();
    let backend = EtcdBackend::builder(namespace())
        .ca_certificate(made.read("ca.crt"))
        .client_certificate(made.read("client.crt"), made.read("client.key"))
        .connect(&cluster.endpoints().join(","))
        .await
        .unwrap();
    let job = seen.job("job", "* * * * * *", Duration::from_secs(6), ms(100));
    let node = tidelock::Scheduler::builder(backend.clone()).job(job).unwrap();
    let node = node.start().await.unwrap();
    seen.next("job", 1, Duration::from_secs(20)).await;
    cluster.member(0).kill();
    seen.next("job", 3, Duration::from_secs(20)).await;
    let _ = node.shutdown(Duration::from_secs(5)).await;
    seen.assert_once_and_apart();
    let states = seen.states(&backend, "job").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
}
