//! TLS configuration of a client: trusted authorities and client certificate.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

use crate::config::pem;
use crate::config::tls_error::TlsError;

/// PEM files of a client.
#[derive(Clone, Copy, Default, Debug)]
pub struct TlsFiles<'a> {
    /// Trusted authorities, instead of those of the system.
    pub authorities: Option<&'a Path>,
    /// Client certificate, which needs a key.
    pub certificate: Option<&'a Path>,
    /// Private key of the client certificate.
    pub key: Option<&'a Path>,
}

/// Configuration from files. It names its crypto provider, whatever the process default is.
pub(super) fn config(files: &TlsFiles<'_>) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports TLS 1.2 and 1.3")
        .with_root_certificates(roots(files.authorities)?);
    let mut config = match (files.certificate, files.key) {
        (Some(certificate), Some(key)) => {
            let chain = pem::load(certificate, pem::certificates)?;
            let client = builder.with_client_auth_cert(chain, pem::load(key, pem::private_key)?);
            client.map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => {
                    TlsError::Mismatch { certificate: certificate.to_owned(), key: key.to_owned() }
                }
                error => TlsError::Certificate { path: certificate.to_owned(), why: error.to_string() },
            })?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(authorities: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = authorities else {
        // The system's store may contain certificates that rustls does not support.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    for authority in pem::load(path, pem::certificates)? {
        let invalid =
            |error: rustls::Error| TlsError::Certificate { path: path.to_owned(), why: error.to_string() };
        roots.add(authority).map_err(invalid)?;
    }
    Ok(roots)
}
