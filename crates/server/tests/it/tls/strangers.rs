//! Plain clients at a TLS listener, and TLS clients at a plain one.

use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::tls::client::Manner;
use crate::tls::service::{Clients, Service};

/// A record with an alert that ends the connection: what clients of TLS understand.
const FATAL: [u8; 6] = [21, 3, 3, 0, 2, 2];

async fn exchange(service: &Service, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(service.address).await.expect("a connection");
    stream.write_all(bytes).await.expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an end without a reset");
    answer
}

#[tokio::test]
async fn plain_requests_to_tls_are_refused() {
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    let service = Service::start(&files, Clients::Anybody).await;
    let plain: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\nhost: test\r\n\r\n",
        b"POST /v1/check HTTP/1.1\r\nhost: test\r\ncontent-length: 100000\r\n\r\n{",
        &[0xFF; 5_000],
        // A hello that is broken.
        &[22, 3, 1, 0, 5, 1, 0, 0, 1, 9],
    ];
    for (refused, bytes) in (1..).zip(plain) {
        let answer = exchange(&service, bytes).await;
        assert_eq!(answer.get(..6), Some(&FATAL[..]), "{bytes:?}: {answer:?}");
        assert_eq!(answer.len(), 7, "{answer:?}");
        assert_eq!(service.state().refused, refused);
    }
    assert_eq!(Manner::trusting(&authority).ask(service.address).await.expect("an answer"), 200);
}

#[tokio::test]
async fn tls_to_a_plain_listener_is_answered_in_plain_text() {
    let service = Service::with("  http: 127.0.0.1:0").await;
    assert!(service.app.tls_state().is_empty());
    let error =
        Manner::trusting(&Authority::new("authority")).ask(service.address).await.expect_err("no TLS");
    assert!(error.to_string().contains("InvalidContentType"), "{error}");
    let answer = exchange(&service, &[22, 3, 1, 0, 100, 1, 0, 0, 96, 3, 3, b'\r', b'\n', b'\r', b'\n']).await;
    assert!(answer.starts_with(b"HTTP/1.1 400 Bad Request\r\n"), "{}", String::from_utf8_lossy(&answer));
}

/// Time only moves when nobody has anything else to do, so that nothing is waited for.
#[tokio::test(start_paused = true)]
async fn who_never_finishes_a_handshake_is_cut_off() {
    let files = CertificateFiles::of(&Authority::new("authority").sign(Usage::Server, 1));
    let service = Service::start(&files, Clients::Anybody).await;
    let begun: [&[u8]; 3] = [b"", &[22], &[22, 3, 1, 2, 0, 1, 0, 1, 252]];
    for bytes in begun {
        let began = tokio::time::Instant::now();
        assert_eq!(exchange(&service, bytes).await, b"", "{bytes:?}");
        let seconds = began.elapsed().as_secs();
        assert!((10..20).contains(&seconds), "{bytes:?}: {seconds} s");
    }
    assert_eq!(service.app.connection_stats().ended_slow, 3);
}
