//! PEM files that settings name: certificates and private keys.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::tls_error::TlsError;

/// Larger than any bundle of authorities.
const MAX_BYTES: u64 = 4 << 20;

pub(crate) fn read(path: &Path) -> io::Result<Arc<[u8]>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(bytes.into())
}

/// Content of a file, parsed by [`certificates`] or [`private_key`].
pub(crate) fn load<T>(
    path: &Path,
    parse: impl FnOnce(&Path, &[u8]) -> Result<T, TlsError>,
) -> Result<T, TlsError> {
    let unreadable =
        |error: io::Error| TlsError::Unreadable { path: path.to_owned(), why: error.to_string() };
    parse(path, &read(path).map_err(unreadable)?)
}

pub(crate) fn certificates(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
    match found.map_err(|error| not_pem(path, &error))? {
        // DER begins with a sequence, PEM with text.
        none if none.is_empty() => {
            Err(TlsError::NoCertificate { path: path.to_owned(), is_der: bytes.starts_with(&[0x30, 0x82]) })
        }
        some => Ok(some),
    }
}

pub(crate) fn private_key(path: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(TlsError::EncryptedKey { path: path.to_owned() });
    }
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey { path: path.to_owned() },
        error => not_pem(path, &error),
    })
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
