//! What files hold, made into what a listener speaks TLS with.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

use super::TlsError;
use super::contents::{Contents, Files};
use super::validity::Validity;

/// A certificate with its key, ready to be used.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) config: Arc<ServerConfig>,
    /// Of the server's own certificate.
    pub(super) validity: Option<Validity>,
}

impl Identity {
    pub(super) fn new(files: &Files, contents: &Contents, protocol: &'static [u8]) -> Result<Self, TlsError> {
        let chain = certificates(&files.certificate, &contents.certificate)?;
        let key = private_key(&files.key, &contents.key)?;
        let validity = chain.first().and_then(|leaf| Validity::of(leaf));
        // The provider is named, so that it does not matter whether the process has set one for everybody.
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
            // A session that is resumed is not asked for its certificate again, which may have expired since.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Self { config: Arc::new(config), validity })
    }

    pub(super) fn not_after_ms(&self) -> Option<u64> {
        self.validity.map(|validity| validity.not_after_ms)
    }
}

pub(super) fn certificates(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
    match found.map_err(|error| not_pem(path, &error))? {
        // DER begins with a sequence, PEM with text.
        none if none.is_empty() => {
            Err(TlsError::NoCertificate { path: path.to_owned(), is_der: bytes.starts_with(&[0x30, 0x82]) })
        }
        some => Ok(some),
    }
}

fn private_key(path: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(TlsError::EncryptedKey { path: path.to_owned() });
    }
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey { path: path.to_owned() },
        error => not_pem(path, &error),
    })
}

/// Apart, so that it is known which of the two files is at fault.
fn check_key(files: &Files, key: &PrivateKeyDer<'static>, provider: &CryptoProvider) -> Result<(), TlsError> {
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

fn unusable(files: &Files, error: &rustls::Error) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::Mismatch { certificate: files.certificate.clone(), key: files.key.clone() }
        }
        error => TlsError::Certificate { path: files.certificate.clone(), why: error.to_string() },
    }
}

fn not_pem(path: &Path, error: &pem::Error) -> TlsError {
    let why = match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            format!("the line -----END {}----- is missing", String::from_utf8_lossy(end_marker))
        }
        pem::Error::IllegalSectionStart { line } => {
            format!("the line {:?} is broken", String::from_utf8_lossy(line).trim_end())
        }
        error => error.to_string(),
    };
    TlsError::NotPem { path: path.to_owned(), why }
}
