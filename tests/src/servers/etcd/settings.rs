//! How a server of a test's own is set up.

use super::super::Certificates;

/// How a server of one's own is set up.
#[derive(Clone, Debug, Default)]
pub struct EtcdSettings {
    pub(super) arguments: Vec<String>,
    pub(super) tls: bool,
}

impl EtcdSettings {
    /// As etcd is by itself, without TLS and users.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more option, such as `auth-token simple`.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.arguments.push(format!("--{name}={value}"));
        self
    }

    /// TLS for clients, who need a certificate of the same authority.
    #[must_use]
    pub fn tls(mut self, made: &Certificates) -> Self {
        self.tls = true;
        let path = |name| made.path(name).display().to_string();
        self.with("cert-file", &path("server.crt"))
            .with("key-file", &path("server.key"))
            .with("trusted-ca-file", &path("ca.crt"))
            .with("client-cert-auth", "true")
    }
}
