//! Several members over TLS, of which one is away or not to be trusted.

use std::time::Duration;

use tidelock::{RunState, Scheduler};
use tidelock_etcd::{EtcdBackend, EtcdBackendBuilder};
use tidelock_tests::fleet::Seen;
use tidelock_tests::live::{ask, granted, ms};
use tidelock_tests::servers::{Certificates, EtcdCluster, EtcdServer, EtcdSettings, namespace};

const PATIENCE: Duration = Duration::from_secs(20);

fn trusting(made: &Certificates) -> EtcdBackendBuilder {
    EtcdBackend::builder(namespace())
        .ca_certificate(made.read("ca.crt"))
        .client_certificate(made.read("client.crt"), made.read("client.key"))
}

#[tokio::test]
async fn a_cluster_with_tls_goes_on_without_a_member() {
    let made = Certificates::new();
    let cluster = EtcdCluster::start(EtcdSettings::new().tls(&made));
    let backend = trusting(&made).connect(&cluster.endpoints().join(",")).await.unwrap();
    let seen = Seen::default();
    let job = seen.job("job", "* * * * * *", Duration::from_secs(6), ms(100));
    let node = Scheduler::builder(backend.clone()).job(job).unwrap().start().await.unwrap();
    seen.next("job", 1, PATIENCE).await;
    cluster.member(0).kill();
    seen.next("job", 3, PATIENCE).await;
    let _ = node.shutdown(Duration::from_secs(5)).await;
    seen.assert_once_and_apart();
    let states = seen.states(&backend, "job").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
}

#[tokio::test]
async fn a_member_whose_certificate_is_not_good_is_passed_over() {
    let (made, other) = (Certificates::new(), Certificates::new());
    let server = EtcdServer::start(EtcdSettings::new().tls(&made));
    let stranger = EtcdServer::start(EtcdSettings::new().tls(&other));
    let both = [stranger.endpoints(), server.endpoints()].concat();
    // Each begins with one of them by chance.
    for second in 1..=6 {
        let backend = trusting(&made).connect_lazy(&both.join(",")).unwrap();
        granted(&backend, &ask("job", second)).await;
        granted(&backend, &ask("other", second)).await;
    }
}
