//! Reasons why a request has no response, with what to do about each.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use http_body_util::LengthLimitError;
use hyper::StatusCode;
use rustls::{AlertDescription, CertificateError, Error as TlsError};

use super::{MAX_RESPONSE_BYTES, ServerUrl};
use crate::{exit, stderr};

/// Reason why a request has no response.
#[derive(thiserror::Error, Debug)]
pub(crate) enum ClientError {
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// A file of `--cacert`, `--cert` or `--key` is unusable.
    #[error("{}: {why}", path.display())]
    File { path: PathBuf, why: String },
    /// TLS failed; the text says what to do.
    #[error("{0}")]
    Tls(String),
    #[error("invalid HTTP response: {0}")]
    Http(hyper::Error),
    #[error("invalid request: {0}")]
    Request(#[from] hyper::http::Error),
    #[error("the response exceeds {} MiB", MAX_RESPONSE_BYTES >> 20)]
    TooLong,
    #[error("cannot read the response: {0}")]
    Body(Box<dyn Error + Send + Sync>),
    #[error("{0}, but no JSON: is this a listener of Slidegate?")]
    NotJson(StatusCode),
}

impl ClientError {
    /// Prints the error of a request to a server, with a hint if there may be no server at all.
    pub(crate) fn report(&self, url: &ServerUrl, hint: &str) -> ExitCode {
        if matches!(self, Self::File { .. }) {
            stderr::error(self);
            return ExitCode::from(exit::USAGE);
        }
        stderr::error(format_args!("{url}: {self}"));
        if matches!(self, Self::Connect(_) | Self::Timeout(_)) {
            stderr::help(hint);
        }
        ExitCode::from(exit::NO_RESPONSE)
    }

    pub(super) fn from_handshake(url: &ServerUrl, error: &io::Error) -> Self {
        Self::Tls(match tls_error(error) {
            Some(error) => advice(url, error),
            None => format!("TLS handshake failed: {error}"),
        })
    }

    /// Error of a request. The error of its connection, if any, says more.
    pub(super) fn from_http(url: &ServerUrl, error: hyper::Error, connection: Option<hyper::Error>) -> Self {
        let tls = tls_error(&error).or_else(|| connection.as_ref().and_then(|error| tls_error(error)));
        match tls {
            Some(tls) => Self::Tls(advice(url, tls)),
            None if error.is_parse() && !url.is_https() => Self::Tls(format!(
                "not an HTTP response: {error}. If the server uses TLS, try {}",
                url.with_other_scheme()
            )),
            None => Self::Http(connection.filter(|_| error.is_canceled()).unwrap_or(error)),
        }
    }

    pub(super) fn from_body(error: Box<dyn Error + Send + Sync>) -> Self {
        if error.is::<LengthLimitError>() { Self::TooLong } else { Self::Body(error) }
    }
}

/// The TLS error inside another error.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<TlsError>() {
            return Some(tls);
        }
        // The source of an I/O error is the source of the error that it wraps, not that error.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn advice(url: &ServerUrl, error: &TlsError) -> String {
    match error {
        TlsError::InvalidCertificate(error) => server_certificate(url, error),
        TlsError::InvalidMessage(_) => {
            format!("the server does not use TLS: try {}", url.with_other_scheme())
        }
        TlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server requires a client certificate: pass it with --cert and its key with --key".to_owned()
        }
        TlsError::AlertReceived(AlertDescription::CertificateExpired) => {
            "the client certificate (--cert) has expired: renew it".to_owned()
        }
        TlsError::AlertReceived(
            alert @ (AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::DecryptError),
        ) => format!(
            "the server rejected the client certificate ({alert:?}): pass one that an authority in its client_ca has signed"
        ),
        error => format!("TLS error: {error}"),
    }
}

fn server_certificate(url: &ServerUrl, error: &CertificateError) -> String {
    let host = url.host();
    let problem = match error {
        CertificateError::UnknownIssuer => {
            "is signed by an unknown authority: pass the authority's file with --cacert".to_owned()
        }
        // The authority was created again under its old name.
        CertificateError::BadSignature => {
            "is signed by a different authority of the same name: pass the right authority's file with --cacert".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("is not valid for {host} ({error}): use a host name from the certificate")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("has expired ({error}): renew it on the server")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("is not valid yet ({error}): check the clock of this machine")
        }
        // `openssl req -x509` makes such certificates by default.
        error if format!("{error:?}").contains("CaUsedAsEndEntity") => {
            "is a CA certificate (CA:TRUE): the server needs one that is signed by it".to_owned()
        }
        error => format!("is invalid: {error}"),
    };
    format!("the server certificate {problem}")
}
