//! Asks a server, once, over plain HTTP.

use std::fmt;
use std::str::FromStr;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// More than any answer has.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Where a server is: `http://host:port`, and a path if a proxy in front wants one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Address {
    host: String,
    port: u16,
    prefix: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no address; write http://127.0.0.1:8080");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err("TLS is not spoken here; use http:// to a proxy that does".to_owned());
            }
            _ => return Err(wrong()),
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?.to_owned();
        if uri.query().is_some() {
            return Err(wrong());
        }
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { host, port: uri.port_u16().unwrap_or(80), prefix })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}{}", self.host, self.port, self.prefix)
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// Why nothing came back.
#[derive(thiserror::Error, Debug)]
pub(super) enum ClientError {
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    #[error("it does not speak HTTP as it should: {0}")]
    Http(#[from] hyper::Error),
    #[error("the request cannot be written: {0}")]
    Request(#[from] hyper::http::Error),
    #[error("its answer cannot be read: {0}")]
    Answer(Box<dyn std::error::Error + Send + Sync>),
}

impl Address {
    /// Sends JSON and reads the whole answer.
    pub(super) async fn post(
        &self,
        path: &str,
        token: Option<&str>,
        json: String,
    ) -> Result<Answered, ClientError> {
        // An IPv6 address stands in brackets in a URL, and without them everywhere else.
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((bare, self.port)).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let answering = tokio::spawn(connection);
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{path}", self.prefix))
            .header(HOST, format!("{}:{}", self.host, self.port))
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let answer = sender.send_request(request.body(Full::new(Bytes::from(json)))?).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        answering.abort();
        Ok(Answered { status, body: body.map_err(ClientError::Answer)?.to_bytes() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let rows = [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("http://limits", "http://limits:80"),
            ("http://limits/behind/it/", "http://limits:80/behind/it"),
            ("http://[::1]:81", "http://[::1]:81"),
        ];
        for (text, expected) in rows {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(expected.to_owned()));
        }
        for text in
            ["", "127.0.0.1:8080", "limits", "https://limits", "ftp://limits", "http://", "http://a?b=c"]
        {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
