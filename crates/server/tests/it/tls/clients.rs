//! Certificates of clients.

use rustls::AlertDescription;
use rustls::version::{TLS12, TLS13};
use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};

use crate::tls::client::{Client, Manner, alert};
use crate::tls::service::{Clients, Service};

struct Scene {
    authority: Authority,
    files: CertificateFiles,
    service: Service,
}

impl Scene {
    async fn new() -> Self {
        let authority = Authority::new("authority");
        let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
        files.write("ca.crt", &authority.certificate);
        let service = Service::start(&files, Clients::Trusted).await;
        Self { authority, files, service }
    }
}

#[tokio::test]
async fn only_who_is_vouched_for_gets_in() {
    let Scene { authority, files: _files, service } = Scene::new().await;
    let stranger = Authority::new("stranger");
    // The same name, another key.
    let double = Authority::new("authority");
    let rows = [
        (Some(authority.sign(Usage::Client, 2)), None),
        (None, Some(AlertDescription::CertificateRequired)),
        (Some(stranger.sign(Usage::Client, 3)), Some(AlertDescription::UnknownCA)),
        (Some(double.sign(Usage::Client, 4)), Some(AlertDescription::DecryptError)),
        (Some(authority.sign(Usage::ExpiredClient, 5)), Some(AlertDescription::CertificateExpired)),
        (Some(authority.sign(Usage::Server, 6)), Some(AlertDescription::UnsupportedCertificate)),
    ];
    let mut refused = 0;
    for versions in [&[&TLS13][..], &[&TLS12]] {
        for (shows, expected) in &rows {
            let manner = Manner { shows: shows.as_ref(), versions, ..Manner::trusting(&authority) };
            let status = manner.ask(service.address).await;
            match expected {
                None => assert_eq!(status.expect("an answer"), 200),
                Some(expected) => {
                    refused += 1;
                    assert_eq!(alert(&status.expect_err("a refusal")), *expected, "{versions:?}");
                }
            }
        }
    }
    service.until("they are counted", |state| state.refused == refused).await;
}

/// Trust that is withdrawn applies to the next connection, although it could resume a session.
#[tokio::test]
async fn authorities_change_like_certificates() {
    let Scene { authority, files, service } = Scene::new().await;
    let pem = authority.sign(Usage::Client, 2);
    let config = Manner { shows: Some(&pem), ..Manner::trusting(&authority) }.config();
    let mut old = Client::connect(service.address, config.clone()).await.expect("a handshake");
    assert_eq!(old.check().await.expect("an answer"), 200);
    files.replace("ca.crt", &Authority::new("another").certificate);
    service.until("it is noticed", |state| state.reloads == 1).await;
    let refused = async { Client::connect(service.address, config).await?.check().await };
    assert_eq!(alert(&refused.await.expect_err("a refusal")), AlertDescription::UnknownCA);
    assert_eq!(old.check().await.expect("what is open stays"), 200);
}
