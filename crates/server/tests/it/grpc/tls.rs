//! The same over TLS, with a certificate of its own.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::Code;

use crate::grpc::client::Client;
use crate::grpc::service::{RULES, Service};

#[tokio::test]
async fn calls_over_tls() {
    let authority = Authority::new("an authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    let path = |name| files.path(name).display().to_string();
    let tls = format!("{{ certificate: {:?}, key: {:?} }}", path("tls.crt"), path("tls.key"));
    let policy = format!("server: {{ grpc: {{ listen: '127.0.0.1:0', tls: {tls} }} }}\n{RULES}");
    let service = Service::start(&policy).await;
    let mut roots = RootCertStore::empty();
    let trusted = CertificateDer::from_pem_slice(authority.certificate.as_bytes()).expect("a certificate");
    roots.add(trusted).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(service.address).await.expect("a connection");
    let name = ServerName::from(service.address.ip());
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("TLS");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut client = Client::over(stream).await;
    for _ in 0..3 {
        assert_eq!(client.limit("alice").await.code(), Code::Ok);
    }
}
