//! Certificates.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(not(feature = "tls"))]
use tokio::net::TcpStream;

/// A connection in TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Certificates for `https://`, as PEM texts. Without any, the system's authorities count.
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

#[cfg(not(feature = "tls"))]
impl Tls {
    pub(crate) async fn connect(
        &self,
        _name: &str,
        _stream: TcpStream,
    ) -> Result<Box<dyn Stream>, Box<dyn std::error::Error + Send + Sync>> {
        Err(Box::new(crate::error::Odd("built without the feature `tls`")))
    }
}

#[cfg(feature = "tls")]
mod with_tls {
    use std::error::Error;
    use std::sync::Arc;

    use etcd_client::{Certificate, Identity, TlsOptions};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::{Stream, Tls};
    use crate::error::Odd;

    impl Tls {
        /// For the driver.
        pub(crate) fn options(&self) -> TlsOptions {
            let mut options = TlsOptions::new();
            options = match &self.authority {
                Some(pem) => options.ca_certificate(Certificate::from_pem(pem)),
                None => options.with_native_roots(),
            };
            if let Some((certificate, key)) = &self.client {
                options = options.identity(Identity::from_pem(certificate, key));
            }
            options
        }

        pub(crate) async fn connect(
            &self,
            name: &str,
            stream: TcpStream,
        ) -> Result<Box<dyn Stream>, Box<dyn Error + Send + Sync>> {
            let name = ServerName::try_from(name.to_owned())?;
            let connector = TlsConnector::from(Arc::new(self.config()?));
            Ok(Box::new(connector.connect(name, stream).await?))
        }

        fn config(&self) -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
            let mut roots = RootCertStore::empty();
            match &self.authority {
                Some(pem) => {
                    for certificate in CertificateDer::pem_slice_iter(pem) {
                        roots.add(certificate.map_err(|_| Odd("the authority is no PEM text"))?)?;
                    }
                }
                None => {
                    let _ = roots
                        .add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                }
            }
            let provider = Arc::new(ring::default_provider());
            let builder = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()?
                .with_root_certificates(roots);
            let Some((certificate, key)) = &self.client else {
                return Ok(builder.with_no_client_auth());
            };
            let chain = CertificateDer::pem_slice_iter(certificate)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|_| Odd("the certificate is no PEM text"))?;
            let key = PrivateKeyDer::from_pem_slice(key)
                .map_err(|_| Odd("the certificate's key is no PEM text"))?;
            Ok(builder.with_client_auth_cert(chain, key)?)
        }
    }
}
