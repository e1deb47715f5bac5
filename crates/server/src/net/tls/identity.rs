//! TLS identity of a listener: a server configuration made of its files.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

use super::contents::{IdentityContents, IdentityFiles};
use super::validity::Validity;
use crate::config::pem::{certificates, private_key};
use crate::config::tls_error::TlsError;

/// Certificate with its key, ready for use.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) config: Arc<ServerConfig>,
    /// Validity of the server's own certificate.
    pub(super) validity: Option<Validity>,
}

impl Identity {
    pub(super) fn new(
        files: &IdentityFiles,
        contents: &IdentityContents,
        protocol: &'static [u8],
    ) -> Result<Self, TlsError> {
        let chain = certificates(&files.certificate, &contents.certificate)?;
        let key = private_key(&files.key, &contents.key)?;
        let validity = chain.first().and_then(|leaf| Validity::of(leaf));
        // An explicit provider: it does not matter whether the process has set a default.
        let provider = Arc::new(ring::default_provider());
        check_key(files, &key, &provider)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider knows TLS 1.2 and 1.3");
        let builder = match (&files.client_ca, &contents.client_ca) {
            (Some(path), Some(pem)) => {
                builder.with_client_cert_verifier(verifier(path, pem, Arc::clone(&provider))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|error| unusable(files, &error))?;
        if !protocol.is_empty() {
            config.alpn_protocols = vec![protocol.to_vec()];
        }
        if files.client_ca.is_some() {
            // A resumed session does not present its certificate again, which may have expired
            // since.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Self { config: Arc::new(config), validity })
    }

    pub(super) fn not_after_ms(&self) -> Option<u64> {
        self.validity.map(|validity| validity.not_after_ms)
    }
}

/// Checks the key alone, so that the error names the right file.
fn check_key(
    files: &IdentityFiles,
    key: &PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Result<(), TlsError> {
    let loaded = provider.key_provider.load_private_key(key.clone_key());
    loaded.map_err(|error| TlsError::Key { path: files.key.clone(), why: error.to_string() })?;
    Ok(())
}

fn verifier(
    path: &Path,
    bytes: &[u8],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let bad = |why: String| TlsError::Certificate { path: path.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for authority in certificates(path, bytes)? {
        roots.add(authority).map_err(|error| bad(error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    verifier.map_err(|error| bad(error.to_string()))
}

fn unusable(files: &IdentityFiles, error: &rustls::Error) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::Mismatch { certificate: files.certificate.clone(), key: files.key.clone() }
        }
        error => TlsError::Certificate { path: files.certificate.clone(), why: error.to_string() },
    }
}
