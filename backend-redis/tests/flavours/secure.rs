//! Servers that speak TLS, and who may speak with them.

use std::net::TcpListener;
use std::sync::Arc;

use tidelock_redis::{RedisBackend, RedisBackendBuilder};
use tidelock_tests::servers::{Certificates, RedisSettings, namespace};

/// Certificates, and a port for TLS beside the plain one.
pub(crate) struct Secure {
    pub(crate) made: Arc<Certificates>,
    pub(crate) port: u16,
}

impl Secure {
    pub(crate) fn new() -> Self {
        Self::of(Arc::new(Certificates::new()))
    }

    /// Another server's, of the same authority.
    pub(crate) fn another(&self) -> Self {
        Self::of(self.made.clone())
    }

    fn of(made: Arc<Certificates>) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { made, port: free.local_addr().unwrap().port() }
    }

    /// What a server is told of them: names and values.
    pub(crate) fn lines(&self) -> [(&'static str, String); 4] {
        let path = |name| self.made.path(name).display().to_string();
        [
            ("tls-port", self.port.to_string()),
            ("tls-cert-file", path("server.crt")),
            ("tls-key-file", path("server.key")),
            ("tls-ca-cert-file", path("ca.crt")),
        ]
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        self.lines().iter().fold(RedisSettings::new(), |all, (name, value)| all.with(name, value))
    }

    pub(crate) fn url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.port)
    }

    /// A client that shows its certificate, and trusts the authority's.
    pub(crate) fn client(&self) -> RedisBackendBuilder {
        RedisBackend::builder(namespace())
            .ca_certificate(self.made.read("ca.crt"))
            .client_certificate(self.made.read("client.crt"), self.made.read("client.key"))
    }
}
