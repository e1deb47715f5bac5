use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::telemetry::otlp::messages::TracesRequest;

/// Collector that takes one message over TLS, and the head of that message.
async fn collector(of: &CertifiedKey<KeyPair>) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let key = PrivateKeyDer::try_from(of.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![of.cert.der().clone()], key)
        .expect("a certificate");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let takes = async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut head = String::new();
        // A client that does not trust this collector leaves.
        let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return head };
        while !head.ends_with("\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a head").into());
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await
            .expect("a client that listens");
        head
    };
    (address, tokio::spawn(takes))
}

fn identity() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate")
}

/// Client that trusts an authority.
fn client(address: SocketAddr, authority: &CertifiedKey<KeyPair>) -> CollectorClient {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(authority.cert.pem().as_bytes()).expect("room");
    let variables = |name| match name {
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("authorization=Bearer%20abc".to_owned()),
        "OTEL_EXPORTER_OTLP_CERTIFICATE" => file.path().to_str().map(str::to_owned),
        _ => None,
    };
    let variables = Variables::read(variables, "one".to_owned()).expect("variables");
    let endpoint = format!("https://localhost:{}/below", address.port());
    CollectorClient::new(endpoint.parse().expect("an address"), &variables).expect("a client")
}

#[tokio::test]
async fn over_tls_with_the_configured_headers() {
    let identity = identity();
    let (address, request) = collector(&identity).await;
    let sent = client(address, &identity).send("traces", &TracesRequest::default()).await;
    assert!(sent.is_ok(), "{sent:?}");
    let head = request.await.expect("a head");
    let lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines[0], "POST /below/v1/traces HTTP/1.1");
    let host = format!("host: localhost:{}", address.port());
    for expected in
        ["authorization: Bearer abc", "content-type: application/x-protobuf", "content-length: 0", &host]
    {
        assert!(lines.contains(&expected), "no {expected} in {head}");
    }
}

#[tokio::test]
async fn an_untrusted_collector_gets_nothing() {
    let (address, request) = collector(&identity()).await;
    let sent = client(address, &identity()).send("traces", &TracesRequest::default()).await;
    match sent {
        Err(SendFailure::Temporary { why, .. }) => assert!(why.contains("certificate"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(request.await.expect("an end"), "");
}

#[test]
fn a_file_without_certificates_is_an_error_at_startup() {
    let file = NamedTempFile::new().expect("a file");
    let variables = |name| {
        let named = name == "OTEL_EXPORTER_OTLP_CERTIFICATE";
        named.then(|| file.path().to_str().expect("a path").to_owned())
    };
    let variables = Variables::read(variables, "one".to_owned()).expect("variables");
    let error = CollectorClient::new("https://localhost".parse().expect("an address"), &variables).err();
    let error = error.expect("no client").to_string();
    assert!(
        error.starts_with("OTEL_EXPORTER_OTLP_CERTIFICATE: ") && error.contains("has no certificate"),
        "{error}"
    );
}
