//! Certificates.

#[cfg(feature = "tls")]
pub(crate) use with::Tls;
#[cfg(not(feature = "tls"))]
pub(crate) use without::Tls;

#[cfg(feature = "tls")]
mod with {
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
        pub(crate) fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
            if !matches!(info.addr(), redis::ConnectionAddr::TcpTls { .. }) {
                return Client::open(info);
            }
            pick_cryptography();
            match self.certificates() {
                None => Client::open(info),
                Some(certificates) => Client::build_with_tls(info, certificates),
            }
        }

        /// For the Sentinels and the servers that they name, where these are asked over TLS.
        #[cfg(feature = "sentinel")]
        pub(crate) fn sentinel(
            &self,
            mut builder: redis::sentinel::SentinelClientBuilder,
            sentinels: bool,
            servers: bool,
        ) -> redis::sentinel::SentinelClientBuilder {
            pick_cryptography();
            if servers {
                builder = builder.set_client_to_redis_tls_mode(redis::TlsMode::Secure);
            }
            if let Some(certificates) = self.certificates() {
                if sentinels {
                    builder = builder.set_client_to_sentinel_certificates(certificates.clone());
                }
                if servers {
                    builder = builder.set_client_to_redis_certificates(certificates);
                }
            }
            builder
        }

        /// For members of a Cluster that are asked over TLS.
        #[cfg(feature = "cluster")]
        pub(crate) fn cluster(
            &self,
            builder: redis::cluster::ClusterClientBuilder,
        ) -> redis::cluster::ClusterClientBuilder {
            pick_cryptography();
            match self.certificates() {
                None => builder,
                Some(certificates) => builder.certs(certificates),
            }
        }

        fn certificates(&self) -> Option<TlsCertificates> {
            if self.authority.is_none() && self.client.is_none() {
                return None;
            }
            let identity = |(cert, key): (Vec<u8>, Vec<u8>)| ClientTlsConfig {
                client_cert: cert,
                client_key: key,
            };
            Some(TlsCertificates {
                client_tls: self.client.clone().map(identity),
                root_cert: self.authority.clone(),
            })
        }
    }

    /// The driver picks no cryptography. One that the application has picked stays.
    fn pick_cryptography() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[cfg(not(feature = "tls"))]
mod without {
    use redis::{Client, ConnectionInfo, RedisResult};

    /// No certificates: the driver refuses `rediss://` and names the feature that is missing.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Tls {}

    impl Tls {
        #[expect(clippy::unused_self, reason = "with certificates it is used")]
        pub(crate) fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
            Client::open(info)
        }

        #[cfg(feature = "sentinel")]
        #[expect(clippy::unused_self, reason = "with certificates it is used")]
        pub(crate) fn sentinel(
            &self,
            builder: redis::sentinel::SentinelClientBuilder,
            _sentinels: bool,
            _servers: bool,
        ) -> redis::sentinel::SentinelClientBuilder {
            builder
        }

        #[cfg(feature = "cluster")]
        #[expect(clippy::unused_self, reason = "with certificates it is used")]
        pub(crate) fn cluster(
            &self,
            builder: redis::cluster::ClusterClientBuilder,
        ) -> redis::cluster::ClusterClientBuilder {
            builder
        }
    }
}
