//! Client certificates are recorded.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use super::ListenerTls;
use crate::config::TlsSettings;

#[tokio::test]
async fn the_digest_is_of_the_clients_own_certificate() {
    let key = || KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = key();
    let authority = params.self_signed(&authority_key).expect("a certificate");
    let issuer = Issuer::new(params, authority_key);
    let names = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let (server_key, client_key) = (key(), key());
    let server = names.signed_by(&server_key, &issuer).expect("a certificate");
    let client = names.signed_by(&client_key, &issuer).expect("a certificate");

    let files = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: String| {
        let path = files.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("a path in UTF-8").to_owned()
    };
    let settings = |client_ca| TlsSettings {
        certificate: write("tls.crt", server.pem()),
        key: write("tls.key", server_key.serialize_pem()),
        client_ca,
    };
    let asking =
        ListenerTls::load("server.tls", &settings(Some(write("ca.crt", authority.pem()))), b"http/1.1")
            .expect("files");
    let open = ListenerTls::load("server.tls", &settings(None), b"http/1.1").expect("files");
    let expected: [u8; 32] = Sha256::digest(client.der()).into();

    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).expect("an authority");
    for version in [&TLS12, &TLS13] {
        let client_key = PrivatePkcs8KeyDer::from(client_key.serialize_der());
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(roots.clone())
            // The authority's own comes after it, and is not meant.
            .with_client_auth_cert(vec![client.der().clone(), authority.der().clone()], client_key.into())
            .expect("a pair");
        let connector = TlsConnector::from(Arc::new(config));
        for (tls, expected) in [(&asking, Some(expected)), (&open, None)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let stream =
                TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
            let (accepted, _) = listener.accept().await.expect("a connection");
            let name = ServerName::try_from("localhost").expect("a name");
            let (served, connected) = tokio::join!(tls.accept(accepted), connector.connect(name, stream));
            connected.expect("a handshake");
            assert_eq!(served.expect("a handshake").certificate, expected, "{version:?}");
        }
    }
}
