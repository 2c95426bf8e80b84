//! One server, over TLS.

use std::time::Duration;

use tidelock::ErrorKind;
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, namespace};
use tokio::time::Instant;

use crate::bench::assert_runs;
use crate::secure::Secure;

#[tokio::test]
async fn tls_with_an_authority_and_a_client_certificate() {
    let secure = Secure::new();
    let server = RedisServer::start(secure.settings());
    let (made, url) = (&secure.made, secure.url());
    let fresh = || RedisBackend::builder(namespace());
    let backend = secure.client().connect(&url).await.unwrap();
    assert_runs(&backend, 1).await;
    assert!(!format!("{backend:?}").contains("KEY"));

    // A server that nobody vouches for, a client without a certificate, and a port without TLS.
    let asked = Instant::now();
    let unknown = fresh().connect(&url).await.unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::Misconfigured, "{unknown:?}");
    let nobody = fresh().ca_certificate(made.read("ca.crt"));
    assert!(nobody.connect(&url).await.is_err());
    let plain = server.url().replace("redis://", "rediss://");
    let plain = fresh().ca_certificate(made.read("ca.crt")).connect(&plain).await;
    assert!(plain.is_err());
    assert!(asked.elapsed() < Duration::from_secs(6), "{:?}", asked.elapsed());
}
