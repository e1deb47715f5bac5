//! Invalid or excessive input: it gets an error, its connection ends, and others do not notice.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::resp::client::{Client, bytes_of};
use crate::resp::service::{BOTH, Kind, Service};

const POLICY: &str = "rules: [{ name: api, key: [user], limits: [1000/min] }]";

#[tokio::test]
async fn malformed_input_gets_an_error_and_a_close() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut other = service.client().await;
    let rows = [
        ("*1\r\n".repeat(100_000), "expected '$', got '*'"),
        ("*2147483648\r\n".to_owned(), "invalid multibulk length"),
        ("*9223372036854775807\r\n".to_owned(), "invalid multibulk length"),
        ("*1025\r\n".to_owned(), "invalid multibulk length"),
        (format!("*{}\r\n", "9".repeat(100_000)), "too big mbulk count string"),
        ("*1\r\n$4294967295\r\n".to_owned(), "invalid bulk length"),
        ("*1\r\n$9223372036854775807\r\n".to_owned(), "invalid bulk length"),
        ("*1\r\n$-1\r\n".to_owned(), "invalid bulk length"),
        (format!("*1\r\n${}\r\n", "9".repeat(100_000)), "too big bulk count string"),
        ("*1\r\n$4\r\nPINGPING\r\n".to_owned(), "a bulk string is longer than its length says"),
        ("x".repeat(1 << 20), "too big inline request"),
        ("ECHO \"a\r\n".to_owned(), "unbalanced quotes in request"),
        ("\u{0}\u{1}\u{2}\u{3}\"\n".to_owned(), "unbalanced quotes in request"),
    ];
    for (bytes, error) in rows {
        let stream = TcpStream::connect(service.address).await.expect("a connection");
        let (reading, mut writing) = stream.into_split();
        // More than anybody reads, until the other side has had enough.
        let flood = tokio::spawn(async move { while writing.write_all(bytes.as_bytes()).await.is_ok() {} });
        let case = &error[..error.len().min(20)];
        let output = output(reading).await;
        assert_eq!(output, format!("-ERR Protocol error: {error}\r\n"), "{case}");
        flood.await.expect("an end");
        assert_eq!(other.say("PING").await.text(), "PONG");
    }
}

/// Output until the end.
async fn output(mut reading: tokio::net::tcp::OwnedReadHalf) -> String {
    use tokio::io::AsyncReadExt;
    let mut output = Vec::new();
    let _reset = reading.read_to_end(&mut output).await;
    String::from_utf8(output).expect("a text")
}

/// A page in a browser can make it send HTTP to any address, with commands in the body. Redis hangs
/// up without a word.
#[tokio::test]
async fn http_is_not_answered() {
    let commands = "SG.CHECK 1 user alice\r\nPING\r\n";
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let rows = [
            format!("POST / HTTP/1.1\r\nhost: x\r\n\r\n{commands}"),
            format!("GET / HTTP/1.1\r\nhost: x\r\n\r\n{commands}"),
            format!("PING\r\npost\r\n{commands}"),
            format!("*1\r\n$5\r\nHoSt:\r\n{commands}"),
            format!("*2\r\n$4\r\nPOST\r\n$1\r\nx\r\n{commands}"),
        ];
        let count = rows.len() as u64;
        for bytes in rows {
            let stream = TcpStream::connect(service.address).await.expect("a connection");
            let (reading, mut writing) = stream.into_split();
            writing.write_all(bytes.as_bytes()).await.expect("it is read");
            assert_eq!(output(reading).await, "", "{bytes:?}");
        }
        assert_eq!(service.app.connection_stats().ended_abusive, count);
        let left = service.client().await.say("SG.CHECK 0 user alice").await;
        assert_eq!(left.integers()[2], 1_000, "nothing that followed was done: {left:?}");
    }
}

/// Bytes of TLS.
#[tokio::test]
async fn other_protocols_come_to_an_end() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    client.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n").await;
    assert!(client.reply().await.error().starts_with("ERR unknown command"));
}

/// The longest command that may be, and one byte more.
#[tokio::test]
async fn a_command_has_a_bound() {
    let policy = format!("server: {{ connections: {{ max_body: 4KiB }} }}\n{POLICY}");
    let service = Service::start(Kind::Memory, &policy).await;
    let head = "*2\r\n$4\r\nECHO\r\n$4067\r\n".len() + "\r\n".len();
    for (length, fits) in [(4_096 - head, true), (4_096 - head + 1, false)] {
        let mut client = service.client().await;
        let text = "x".repeat(length);
        client.write(&bytes_of(&["ECHO", &text])).await;
        if fits {
            assert_eq!(client.reply().await.text(), text);
        } else {
            assert_eq!(client.reply().await.error(), "ERR Protocol error: invalid bulk length");
            assert!(client.is_ended().await);
        }
    }
}

/// Who goes away in the middle of something leaves nothing behind.
#[tokio::test]
async fn halves_of_connections_are_forgotten() {
    let service = Service::start(Kind::Memory, POLICY).await;
    for bytes in ["", "*", "*3\r\n$8\r\nSG.CH", "PING\r\n*2\r\n$4\r\nECHO\r\n$60000\r\nx"] {
        for _ in 0..20 {
            Client::connect(service.address).await.write(bytes.as_bytes()).await;
        }
    }
    let mut client = service.client().await;
    while service.app.connection_stats().open > 1 {
        assert_eq!(client.say("PING").await.text(), "PONG");
    }
}
