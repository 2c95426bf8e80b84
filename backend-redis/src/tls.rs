//! Certificates.

use std::fmt;

use redis::{Client, ClientTlsConfig, ConnectionInfo, RedisResult, TlsCertificates};

/// Certificates for `rediss://`, as PEM texts. Without any, the system's authorities count.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    pub(crate) authority: Option<Vec<u8>>,
    pub(crate) client: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("authority", &self.authority.is_some())
            .field("client", &self.client.is_some())
            .finish()
    }
}

impl Tls {
    /// A client that shows and asks for these.
    pub(crate) fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
        // The driver picks no cryptography. One that the application has picked stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        if self.authority.is_none() && self.client.is_none() {
            return Client::open(info);
        }
        Client::build_with_tls(info, self.certificates())
    }

    fn certificates(&self) -> TlsCertificates {
        let identity = |(cert, key): (Vec<u8>, Vec<u8>)| ClientTlsConfig {
            client_cert: cert,
            client_key: key,
        };
        TlsCertificates {
            client_tls: self.client.clone().map(identity),
            root_cert: self.authority.clone(),
        }
    }
}
