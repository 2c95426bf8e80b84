//! A server over TLS.

use std::time::Duration;

use tidelock::ErrorKind;
use tidelock_etcd::{EtcdBackend, EtcdBackendBuilder};
use tidelock_tests::live::{ask, finish, granted, history};
use tidelock_tests::servers::{Certificates, EtcdServer, EtcdSettings, namespace};
use tokio::time::Instant;

fn fresh() -> EtcdBackendBuilder {
    EtcdBackend::builder(namespace())
}

#[tokio::test]
async fn tls_with_an_authority_and_a_client_certificate() {
    let made = Certificates::new();
    let server = EtcdServer::start(EtcdSettings::new().tls(&made));
    let endpoint = server.endpoints().join(",");
    assert!(endpoint.starts_with("https://"), "{endpoint}");
    let trusting = || fresh().ca_certificate(made.read("ca.crt"));
    let client = || trusting().client_certificate(made.read("client.crt"), made.read("client.key"));
    let backend = client().connect(&endpoint).await.unwrap();
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    let finished = finish(&backend, &request, &grant.lease).await.unwrap();
    assert!(finished.unsaved.is_none(), "{finished:?}");
    assert_eq!(history(&backend).await.len(), 1);
    assert!(!format!("{backend:?} {:?}", client()).contains("KEY"));

    // The clock of a member shows through TLS, too.
    let found = backend.preflight().await.unwrap();
    assert!(found.findings.iter().all(|f| f.topic != "clock"), "{:?}", found.findings);

    // Without the scheme, certificates say that it is TLS.
    let bare = endpoint.replace("https://", "");
    granted(&client().connect(&bare).await.unwrap(), &ask("job", 1)).await;
}

#[tokio::test]
async fn who_cannot_speak_with_the_server_hears_so_at_once() {
    let made = Certificates::new();
    let server = EtcdServer::start(EtcdSettings::new().tls(&made));
    let (endpoint, plain) = (server.endpoints().join(","), EtcdServer::shared().endpoints());
    let plain = plain[0].replace("http://", "https://");
    let trusting = || fresh().ca_certificate(made.read("ca.crt"));
    let asked = Instant::now();
    // A server that nobody vouches for, and a client without a certificate.
    for (what, builder, endpoint) in
        [("unknown authority", fresh(), &endpoint), ("no certificate", trusting(), &endpoint)]
    {
        let error = builder.connect(endpoint).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Misconfigured, "{what}: {error:?}");
    }
    // A port without TLS looks like a server that goes away.
    assert!(trusting().connect(&plain).await.is_err());
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}
