//! Why no answer came, and what can be done about it.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use http_body_util::LengthLimitError;
use rustls::{AlertDescription, CertificateError, Error as TlsError};

use super::{Address, MAX_ANSWER_BYTES};

/// Why nothing came back.
#[derive(thiserror::Error, Debug)]
pub(crate) enum ClientError {
    #[error("{0}")]
    Connect(io::Error),
    /// One of the files that were named.
    #[error("{} {why}", path.display())]
    File { path: PathBuf, why: String },
    /// The two do not agree on TLS; with what to do.
    #[error("{0}")]
    Tls(String),
    #[error("it does not speak HTTP as it should: {0}")]
    Http(hyper::Error),
    #[error("the request cannot be written: {0}")]
    Request(#[from] hyper::http::Error),
    #[error("its answer is longer than {} MiB, and was not read to its end", MAX_ANSWER_BYTES >> 20)]
    TooLong,
    #[error("its answer cannot be read: {0}")]
    Answer(Box<dyn Error + Send + Sync>),
}

impl ClientError {
    /// Whether there may be no server at all.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Connect(_))
    }

    pub(super) fn of_handshake(address: &Address, error: &io::Error) -> Self {
        Self::Tls(match tls_error(error) {
            Some(error) => advice(address, error),
            None => format!("the handshake of TLS failed: {error}"),
        })
    }

    /// What the connection ended with says more than what the request did.
    pub(super) fn of_http(
        address: &Address,
        error: hyper::Error,
        of_connection: Option<hyper::Error>,
    ) -> Self {
        let tls = tls_error(&error).or_else(|| of_connection.as_ref().and_then(|error| tls_error(error)));
        match tls {
            Some(tls) => Self::Tls(advice(address, tls)),
            None if error.is_parse() && !address.is_tls() => Self::Tls(format!(
                "it does not speak HTTP: {error}. If it speaks TLS, write {}",
                address.with_other_scheme()
            )),
            None => Self::Http(of_connection.filter(|_| error.is_canceled()).unwrap_or(error)),
        }
    }

    /// Of an answer that began.
    pub(super) fn of_body(error: Box<dyn Error + Send + Sync>) -> Self {
        if error.is::<LengthLimitError>() { Self::TooLong } else { Self::Answer(error) }
    }
}

/// The error of TLS inside another.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<TlsError>() {
            return Some(tls);
        }
        // An error of I/O shows the source of what it wraps, and not that itself.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn advice(address: &Address, error: &TlsError) -> String {
    match error {
        TlsError::InvalidCertificate(error) => of_server(address, error),
        TlsError::InvalidMessage(_) => {
            format!("it does not speak TLS; if it is a plain server, write {}", address.with_other_scheme())
        }
        TlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "it asks for a client certificate: name yours with --cert and its key with --key".to_owned()
        }
        TlsError::AlertReceived(AlertDescription::CertificateExpired) => {
            "the certificate of --cert has expired: get a new one".to_owned()
        }
        TlsError::AlertReceived(
            alert @ (AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::DecryptError),
        ) => format!(
            "it does not accept the certificate of --cert ({alert:?}): take one that an authority of its client_ca has signed"
        ),
        error => format!("no agreement on TLS: {error}"),
    }
}

fn of_server(address: &Address, error: &CertificateError) -> String {
    let host = address.host();
    match error {
        CertificateError::UnknownIssuer => {
            "its certificate is signed by an authority that is not known here: name that authority's file with --cacert"
                .to_owned()
        }
        // The authority was made anew under its old name.
        CertificateError::BadSignature => {
            "its certificate is signed by another authority of that name: name the right one's file with --cacert".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("its certificate is not for {host} ({error}): ask it by a name that the certificate has")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("its certificate has expired ({error}): the server needs a new one")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("its certificate is not valid yet ({error}): is the clock of this machine right?")
        }
        // One of `openssl req -x509` is, unless it is told otherwise.
        error if format!("{error:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is an authority's own (CA:TRUE): the server needs one that is signed by it".to_owned()
        }
        error => format!("its certificate cannot be trusted: {error}"),
    }
}
