//! Errors of the check client.

use std::error::Error;
use std::time::Duration;

use http::StatusCode;
use http::header::InvalidHeaderValue;
use thiserror::Error;

/// Error of an HTTP service.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Failure to get an answer. A denial is none: it is an answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The address of the server is not a URI with a scheme and a host.
    #[error("invalid server address `{0}`: expected one like http://127.0.0.1:8080")]
    Address(String),
    /// The token has characters that a header cannot have.
    #[error("invalid token: expected printable ASCII")]
    Token(#[from] InvalidHeaderValue),
    /// The request was not sent, or its response was lost.
    #[error("no response from the server: {0}")]
    Transport(#[source] BoxError),
    /// The response did not come in time.
    #[error("no response from the server within {0:?}")]
    Timeout(Duration),
    /// The server refuses to answer: an invalid request, a missing token, a store that is down.
    #[error("the server answered {status}: {detail}")]
    Status {
        /// Status of the response.
        status: StatusCode,
        /// Detail of the problem, or the start of the body.
        detail: String,
    },
    /// The body is not that of an answer: this is not a Slidegate server, or not a compatible one.
    #[error("unexpected body in the response of the server")]
    Json(#[source] serde_json::Error),
}
