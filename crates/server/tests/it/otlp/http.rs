//! One request over HTTP, and what came back.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The status and the body.
pub(crate) async fn send(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let mut request = format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request
        .push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("a connection that takes bytes");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// `POST /v1/check` of a path; its status.
pub(crate) async fn check(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> u16 {
    let body =
        format!(r#"{{"attributes":{{"path":"{path}","ip":"203.0.113.7","user":"mallory@example.com"}}}}"#);
    send(address, "POST /v1/check", headers, &body).await.0
}
