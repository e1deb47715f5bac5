//! The end, for those whose request is on its way in a record of which only a part is here.

use std::io::{Read, Write};
use std::time::Duration;

use rustls::ClientConnection;
use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::tls::client::{Manner, connect};
use crate::tls::service::{Clients, Service};

const REQUEST: &[u8] =
    b"POST /v1/check HTTP/1.1\r\nhost: test\r\ncontent-length: 31\r\n\r\n{\"attributes\":{\"user\":\"alice\"}}";

/// A connection whose records are cut at will.
struct Cutter {
    stream: TcpStream,
    tls: ClientConnection,
}

impl Cutter {
    async fn connect(service: &Service, manner: &Manner<'_>) -> Self {
        let (stream, tls) =
            connect(service.address, manner.config()).await.expect("a handshake").into_inner();
        stream.set_nodelay(true).expect("a socket");
        Self { stream, tls }
    }

    /// What has to be sent for a text.
    fn records(&mut self, text: &[u8]) -> Vec<u8> {
        self.tls.writer().write_all(text).expect("room");
        let mut records = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut records).expect("room");
        }
        records
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("a connection");
    }

    /// What comes until an answer is complete, or until the end.
    async fn hear(&mut self) -> String {
        let (mut text, mut bytes) = (String::new(), [0; 4_096]);
        // The body of an answer is an object.
        while !text.ends_with('}') {
            let count = self.stream.read(&mut bytes).await.expect("a connection");
            if count == 0 {
                break;
            }
            let mut new = &bytes[..count];
            while !new.is_empty() {
                self.tls.read_tls(&mut new).expect("room");
                self.tls.process_new_packets().expect("TLS");
                let _until_more_comes = self.tls.reader().read_to_string(&mut text);
            }
        }
        text
    }
}

/// In the head of a record, in its middle, before its last byte; as the first request, and as a
/// later one; by itself, and behind another.
#[tokio::test]
async fn what_was_begun_is_answered() {
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    let manner = Manner::trusting(&authority);
    for (from_end, earlier, together) in [
        (0, 0, false),
        (0, 1, false),
        (1, 0, false),
        (1, 1, false),
        (1, 1, true),
        (2, 0, false),
        (2, 1, true),
    ] {
        let mut service = Service::start(&files, Clients::Anybody).await;
        let mut idle = Cutter::connect(&service, &manner).await;
        let mut client = Cutter::connect(&service, &manner).await;
        let before = if earlier == 1 { client.records(REQUEST) } else { Vec::new() };
        let records = client.records(REQUEST);
        let cut = [1, records.len() / 2, records.len() - 1][from_end];
        let (part, rest) = records.split_at(cut);
        if together {
            client.send(&[&before, part].concat()).await;
        } else {
            client.send(&before).await;
        }
        for _ in 0..earlier {
            let answer = client.hear().await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:?}");
        }
        if !together {
            client.send(part).await;
        }
        service.stop();
        // A client without a request has left when the rest comes.
        assert_eq!(idle.hear().await, "");
        client.send(rest).await;
        let answer = client.hear().await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("connection: close"), "{answer:?}");
        timeout(Duration::from_secs(5), service.ended()).await.expect("no waiting");
    }
}

/// A key update is no request: a client that sent one, in two parts, ends with all others.
#[tokio::test]
async fn what_tls_says_itself_is_no_request() {
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    let manner = Manner { versions: &[&rustls::version::TLS13], ..Manner::trusting(&authority) };
    for earlier in [0, 1] {
        let mut service = Service::start(&files, Clients::Anybody).await;
        let mut client = Cutter::connect(&service, &manner).await;
        for _ in 0..earlier {
            let records = client.records(REQUEST);
            client.send(&records).await;
            client.hear().await;
        }
        client.tls.refresh_traffic_keys().expect("a connection with keys");
        let records = client.records(b"");
        for part in records.chunks(records.len() / 2 + 1) {
            client.send(part).await;
            // So that it is read before the next part comes.
            Manner::trusting(&authority).ask(service.address).await.expect("an answer");
        }
        service.stop();
        let output = timeout(Duration::from_secs(5), client.hear()).await;
        assert_eq!(output.expect("no waiting for what is not asked"), "");
        timeout(Duration::from_secs(5), service.ended()).await.expect("no waiting");
    }
}
