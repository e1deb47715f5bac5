//! Requests and answers over TLS.

use rustls::ProtocolVersion;
use rustls::version::{TLS12, TLS13};
use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};

use crate::tls::client::{Client, Manner};
use crate::tls::service::{Clients, Service};

#[tokio::test]
async fn both_versions_are_spoken() {
    let authority = Authority::new("authority");
    let pem = authority.sign(Usage::Server, 1);
    let files = CertificateFiles::of(&pem);
    let service = Service::start(&files, Clients::Anybody).await;
    for (version, expected) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)] {
        let manner = Manner { versions: &[version], ..Manner::trusting(&authority) };
        let config = manner.config();
        // The second connection resumes the session of the first.
        for _ in 0..2 {
            let mut client = Client::connect(service.address, config.clone()).await.expect("a handshake");
            assert_eq!(client.version(), Some(expected));
            assert_eq!(client.alpn(), Some(&b"http/1.1"[..]));
            assert!(client.has_presented(&pem));
            for _ in 0..100 {
                assert_eq!(client.check().await.expect("an answer"), 200);
            }
        }
    }
    assert_eq!(service.state().refused, 0);
}

/// The certificates of those that vouch for the server's are sent along.
#[tokio::test]
async fn a_chain_is_sent_whole() {
    let authority = Authority::new("authority");
    let mut pem = authority.sign(Usage::Server, 1);
    pem.certificate.push_str(&authority.certificate);
    let service = Service::start(&CertificateFiles::of(&pem), Clients::Anybody).await;
    assert_eq!(Manner::trusting(&authority).ask(service.address).await.expect("an answer"), 200);
}

/// A client that does not trust the certificate sends an alert, and the next one is served.
#[tokio::test]
async fn a_client_may_refuse() {
    let authority = Authority::new("authority");
    let service =
        Service::start(&CertificateFiles::of(&authority.sign(Usage::Server, 1)), Clients::Anybody).await;
    let error =
        Manner::trusting(&Authority::new("another")).ask(service.address).await.expect_err("no trust");
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert_eq!(Manner::trusting(&authority).ask(service.address).await.expect("an answer"), 200);
    service.until("it is counted", |state| state.refused == 1).await;
}
