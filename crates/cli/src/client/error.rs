//! Reasons why a request has no response, with what to do about each.

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use http_body_util::LengthLimitError;
use hyper::StatusCode;
use rustls::{AlertDescription, CertificateError, Error as RustlsError};
use slidegate_server::TlsError;
use slidegate_server::http_client::{HttpClientError, HttpUrl};

use super::MAX_RESPONSE_BYTES;
use crate::{exit, stderr};

/// Reason why a request has no response.
#[derive(thiserror::Error, Debug)]
pub(crate) enum ClientError {
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
    #[error("no response within {} s", .0.as_secs())]
    Timeout(Duration),
    /// A file of `--cacert`, `--cert` or `--key` is unusable.
    #[error(transparent)]
    File(#[from] TlsError),
    #[error("invalid token: it must consist of visible ASCII characters")]
    Token,
    /// TLS failed; the text says what to do.
    #[error("{0}")]
    Tls(String),
    #[error("{0}")]
    Http(HttpClientError),
    #[error("the response exceeds {} MiB", MAX_RESPONSE_BYTES >> 20)]
    TooLong,
    #[error("cannot read the response: {0}")]
    Body(Box<dyn Error + Send + Sync>),
    #[error("{0}, but no JSON: is this a listener of Slidegate?")]
    NotJson(StatusCode),
}

impl ClientError {
    /// Prints the error of a request to a server, with a hint if there may be no server at all.
    pub(crate) fn report(&self, url: &HttpUrl, hint: &str) -> ExitCode {
        if matches!(self, Self::File(_) | Self::Token) {
            stderr::error(self);
            return ExitCode::from(exit::USAGE);
        }
        stderr::error(format_args!("{url}: {self}"));
        if matches!(self, Self::Http(HttpClientError::Connect(_)) | Self::Timeout(_)) {
            stderr::help(hint);
        }
        ExitCode::from(exit::NO_RESPONSE)
    }

    pub(super) fn from_http(url: &HttpUrl, error: HttpClientError) -> Self {
        if let Some(tls) = error.find::<RustlsError>() {
            return Self::Tls(advice(url, tls));
        }
        match error {
            HttpClientError::Exchange { error, .. } if error.is_parse() && !url.is_https() => {
                let other = url.with_other_scheme();
                Self::Tls(format!("not an HTTP response: {error}. If the server uses TLS, try {other}"))
            }
            // A canceled request has its reason in the connection.
            HttpClientError::Exchange { error, connection: Some(connection) } if error.is_canceled() => {
                Self::Http(HttpClientError::Exchange { error: connection, connection: None })
            }
            error => Self::Http(error),
        }
    }

    pub(super) fn from_body(error: Box<dyn Error + Send + Sync>) -> Self {
        if error.is::<LengthLimitError>() { Self::TooLong } else { Self::Body(error) }
    }
}

fn advice(url: &HttpUrl, error: &RustlsError) -> String {
    match error {
        RustlsError::InvalidCertificate(error) => server_certificate(url, error),
        RustlsError::InvalidMessage(_) => {
            format!("the server does not use TLS: try {}", url.with_other_scheme())
        }
        RustlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server requires a client certificate: pass it with --cert and its key with --key".to_owned()
        }
        RustlsError::AlertReceived(AlertDescription::CertificateExpired) => {
            "the client certificate (--cert) has expired: renew it".to_owned()
        }
        RustlsError::AlertReceived(
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

fn server_certificate(url: &HttpUrl, error: &CertificateError) -> String {
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
