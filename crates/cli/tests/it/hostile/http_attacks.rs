//! Attacks over HTTP, to the bounds of what one address may have, and how they end.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::attacks::{open, until_ended};
use super::{OVER, TIME, WITH_BODIES_KIB, WITH_HEADS_KIB};

/// What an attack comes to, in words.
type Attack = fn(SocketAddr) -> Pin<Box<dyn Future<Output = String>>>;

/// Each with the memory that the server may have had by then, in KiB.
pub(crate) const ALL: [(&str, u64, Attack); 6] = [
    ("1,000 half-open connections", WITH_HEADS_KIB, |server| Box::pin(half_open(server))),
    ("a byte a second", WITH_HEADS_KIB, |server| Box::pin(trickle(server))),
    ("bodies of 100 MB", WITH_HEADS_KIB, |server| Box::pin(large_bodies(server))),
    ("4,000 heads of 60 KiB that do not end", WITH_HEADS_KIB, |server| Box::pin(large_heads(server))),
    ("10,000 connections from one address", WITH_HEADS_KIB, |server| Box::pin(many(server))),
    ("4,000 bodies of 60 KiB that do not end", WITH_BODIES_KIB, |server| Box::pin(half_bodies(server))),
];

/// Half of a request, and then nothing.
async fn half_open(server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    for _ in 0..1_000 {
        tasks.spawn(async move {
            let (mut stream, began) = open(server, b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-le").await;
            (until_ended(&mut stream).await, began.elapsed())
        });
    }
    in_time(&tasks.join_all().await)
}

/// A byte every second would be a request after a minute.
async fn trickle(server: SocketAddr) -> String {
    let began = Instant::now();
    let stream = TcpStream::connect(server).await.expect("it listens");
    let (mut reading, mut writing) = stream.into_split();
    let drip = tokio::spawn(async move {
        for byte in b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n".chunks(1) {
            if writing.write_all(byte).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
    });
    let mut answer = Vec::new();
    let _reset = timeout(OVER, reading.read_to_end(&mut answer)).await.expect("it is cut off");
    drip.abort();
    in_time(&[(answer, began.elapsed())])
}

/// As fast as it can be sent, from ten at a time, until the server does not want more.
async fn large_bodies(server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    for _ in 0..10 {
        tasks.spawn(async move {
            let stream = TcpStream::connect(server).await.expect("it listens");
            let (mut reading, mut writing) = stream.into_split();
            let sender = tokio::spawn(async move {
                let head = b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n";
                writing.write_all(head).await.expect("it reads");
                let (mut sent_bytes, part) = (0, [b' '; 1 << 16]);
                while sent_bytes < 100_000_000 && writing.write_all(&part).await.is_ok() {
                    sent_bytes += part.len();
                }
                sent_bytes
            });
            let mut answer = Vec::new();
            let _reset = timeout(OVER, reading.read_to_end(&mut answer)).await.expect("it is cut off");
            assert!(answer.starts_with(b"HTTP/1.1 413 "), "{}", answer.escape_ascii());
            sender.await.expect("it ends")
        });
    }
    let sent_bytes = tasks.join_all().await.into_iter().max().unwrap_or_default();
    assert!(sent_bytes < 50_000_000, "{sent_bytes} bytes of one body were taken");
    format!("all were told 413, after at most {sent_bytes} bytes")
}

/// As much as a head may have, and no end.
async fn large_heads(server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    for _ in 0..4_000 {
        tasks.spawn(async move {
            let head = [b"GET / HTTP/1.1\r\nx-padding: ", &[b'x'; 60 << 10][..]].concat();
            let (mut stream, began) = open(server, &head).await;
            (until_ended(&mut stream).await, began.elapsed())
        });
    }
    in_time_if_read(&tasks.join_all().await)
}

/// All of a body but its last part.
async fn half_bodies(server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    for _ in 0..4_000 {
        tasks.spawn(async move {
            let head = b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-length: 65536\r\n\r\n";
            let (mut stream, began) = open(server, &[&head[..], &[b' '; 60 << 10]].concat()).await;
            (until_ended(&mut stream).await, began.elapsed())
        });
    }
    in_time_if_read(&tasks.join_all().await)
}

/// More than one address may have. Some are told so, and all are gone soon.
async fn many(server: SocketAddr) -> String {
    let mut streams = Vec::new();
    for _ in 0..10_000 {
        // Whoever is refused while the system's queue is full is out of the way, too.
        streams.extend(timeout(OVER, TcpStream::connect(server)).await.expect("an answer of the system"));
    }
    let opened = streams.len();
    let readers = std::mem::take(&mut streams).into_iter().map(|mut stream| async move {
        let _closed = stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n").await;
        until_ended(&mut stream).await
    });
    let ended: Vec<_> = readers.collect::<JoinSet<_>>().join_all().await;
    let answered = ended.iter().filter(|answer| !answer.is_empty()).count();
    format!("{opened} were opened, {answered} were told something, all have ended")
}

/// Nobody was cut off before the time, and whoever had begun was told.
fn in_time(ended: &[(Vec<u8>, Duration)]) -> String {
    let mute = ended.iter().filter(|(answer, _)| answer.is_empty()).count();
    assert_eq!(mute, 0, "were told nothing");
    in_time_if_read(ended)
}

/// The same where a server that has too little time may not have come to read what was begun.
fn in_time_if_read(ended: &[(Vec<u8>, Duration)]) -> String {
    for (answer, after) in ended {
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408 "), "{}", answer.escape_ascii());
        assert!(*after >= TIME, "after {after:?}");
    }
    let answered = ended.iter().filter(|(answer, _)| !answer.is_empty()).count();
    let last = ended.iter().map(|(_, after)| *after).max().unwrap_or_default();
    format!("all {} were cut off and {answered} of them told 408, the last after {last:.1?}", ended.len())
}
