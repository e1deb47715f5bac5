//! Errors in TLS files, with remedies.

use std::path::PathBuf;

/// Error in TLS files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is not there, or cannot be read.
    #[error(
        "{} cannot be read: {why}. Paths are relative to the directory that the program was started in",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        why: String,
    },
    /// A file is not what it should be.
    #[error("{} is not valid PEM: {why}. It may be truncated: write it again", path.display())]
    NotPem {
        /// The file.
        path: PathBuf,
        /// The error.
        why: String,
    },
    /// There is no certificate in a file.
    #[error(
        "{} has no certificate: it needs a part that begins with -----BEGIN CERTIFICATE-----{}",
        path.display(), if *is_der { der_remedy() } else { "" }
    )]
    NoCertificate {
        /// The file.
        path: PathBuf,
        /// Whether it looks like the binary form.
        is_der: bool,
    },
    /// There is no private key in a file.
    #[error("{} has no private key: it needs a part that begins with -----BEGIN PRIVATE KEY-----", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// A key needs a passphrase.
    #[error(
        "the key in {0} is encrypted: write it without a passphrase, \
         `openssl pkey -in {0} -out plain.key`, and restrict access to that file", path.display()
    )]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// A key is of a kind that is not known.
    #[error("the key in {} cannot be used: {why}. RSA, ECDSA (P-256, P-384) and Ed25519 can", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The error.
        why: String,
    },
    /// Key and certificate are not of each other.
    #[error(
        "the key in {} does not match the certificate in {}: the certificate of the key must be the first in its file",
        key.display(), certificate.display()
    )]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// A certificate is not understood.
    #[error("a certificate in {} cannot be used: {why}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The error.
        why: String,
    },
}

fn der_remedy() -> &'static str {
    ". It looks like DER: `openssl x509 -inform der -in FILE -out FILE.pem` turns it into PEM"
}
