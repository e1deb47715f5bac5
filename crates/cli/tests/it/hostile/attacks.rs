//! Attacks in any protocol, from one address: each ends, and what it came to is told in words.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::protocols::Protocol;
use super::{OVER, TIME};

type Attack = fn(Protocol, SocketAddr) -> Pin<Box<dyn Future<Output = String>>>;

/// Each with how many connections it has at a time, the fewest first: what the server has had at
/// most only grows.
pub(crate) const ALL: [(&str, u64, Attack); 4] = [
    ("never reading", NEVER_READING, |protocol, server| Box::pin(never_reading(protocol, server))),
    ("flooding", FLOODING, |protocol, server| Box::pin(flooding(protocol, server))),
    ("slow", SLOW, |protocol, server| Box::pin(slow(protocol, server))),
    ("half-open", HALF_OPEN, |protocol, server| Box::pin(half_open(protocol, server))),
];

const HALF_OPEN: u64 = 1_000;
const SLOW: u64 = 200;
const NEVER_READING: u64 = 200;
const FLOODING: u64 = 200;
/// What comes of a request that does not come to its end: less than any has.
const PART_BYTES: usize = 20;
/// A whole request would take ten times as long as it may.
const DRIP: Duration = Duration::from_millis(500);
/// How long a flood lasts.
const FLOOD: Duration = Duration::from_secs(3);
/// Requests that a flood sends in one go.
const PIPELINE: u32 = 100;

/// A part of a request, and then nothing.
async fn half_open(protocol: Protocol, server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    for _ in 0..HALF_OPEN {
        tasks.spawn(async move {
            let first = [(protocol.greeting)(), (protocol.request)(0)[..PART_BYTES].to_vec()].concat();
            let (mut stream, began) = open(server, &first).await;
            until_ended(&mut stream).await;
            began.elapsed()
        });
    }
    in_time(&tasks.join_all().await)
}

/// A request a byte at a time.
async fn slow(protocol: Protocol, server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    for _ in 0..SLOW {
        tasks.spawn(async move {
            let (stream, began) = open(server, &(protocol.greeting)()).await;
            let (mut reading, mut writing) = stream.into_split();
            let drips = tokio::spawn(async move {
                for byte in (protocol.request)(0).chunks(1) {
                    if writing.write_all(byte).await.is_err() {
                        return;
                    }
                    sleep(DRIP).await;
                }
                panic!("all of the request was taken");
            });
            let _reset = timeout(OVER, reading.read_to_end(&mut Vec::new())).await.expect("it is cut off");
            let after = began.elapsed();
            drips.abort();
            after
        });
    }
    in_time(&tasks.join_all().await)
}

/// Requests without an end, and no answer is taken.
async fn never_reading(protocol: Protocol, server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    for _ in 0..NEVER_READING {
        tasks.spawn(async move {
            let mut stream = connect_with_little_room(server).await;
            let mut sent_bytes = 0;
            let sends = async {
                let _ended = stream.write_all(&(protocol.greeting)()).await;
                for number in 0.. {
                    let request = (protocol.long_request)(number);
                    if stream.write_all(&request).await.is_err() {
                        return;
                    }
                    sent_bytes += request.len();
                }
            };
            timeout(2 * OVER, sends).await.expect("it is cut off");
            sent_bytes
        });
    }
    let sent_bytes = tasks.join_all().await.into_iter().max().unwrap_or_default();
    format!("all were cut off, after at most {sent_bytes} bytes")
}

/// Requests faster than they are answered, and every answer is taken. Whoever is cut off comes
/// again.
async fn flooding(protocol: Protocol, server: SocketAddr) -> String {
    let mut tasks = JoinSet::new();
    let until = Instant::now() + FLOOD;
    for _ in 0..FLOODING {
        tasks.spawn(async move {
            let mut answered_bytes = 0;
            while Instant::now() < until {
                answered_bytes += flood(protocol, server, until).await;
            }
            answered_bytes
        });
    }
    let answered_bytes: u64 = tasks.join_all().await.into_iter().sum();
    assert!(answered_bytes > 0, "nobody was answered");
    format!("they got {} KiB of answers", answered_bytes >> 10)
}

/// One connection, until it ends or the time is over; the bytes that it got.
async fn flood(protocol: Protocol, server: SocketAddr, until: Instant) -> u64 {
    let (stream, _) = open(server, &(protocol.greeting)()).await;
    let (mut reading, mut writing) = stream.into_split();
    let sends = tokio::spawn(async move {
        for first in (0..).step_by(PIPELINE as usize) {
            let requests: Vec<u8> = (first..first + PIPELINE).flat_map(protocol.request).collect();
            if writing.write_all(&requests).await.is_err() {
                return;
            }
        }
    });
    let (mut answered_bytes, mut buffer) = (0, vec![0; 1 << 16]);
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        match timeout(left, reading.read(&mut buffer)).await {
            Ok(Ok(bytes @ 1..)) => answered_bytes += bytes as u64,
            _ => break,
        }
    }
    sends.abort();
    answered_bytes
}

/// So many connect at a time: from more the system defends itself, before the server can know of
/// them.
static DOORWAY: Semaphore = Semaphore::const_new(200);

/// A connection that sent this, and when it began.
pub(crate) async fn open(server: SocketAddr, first: &[u8]) -> (TcpStream, Instant) {
    let _turn = DOORWAY.acquire().await.expect("it is never closed");
    let began = Instant::now();
    let mut stream = TcpStream::connect(server).await.expect("it listens");
    stream.write_all(first).await.expect("it reads");
    (stream, began)
}

/// One whose system keeps next to nothing for it.
async fn connect_with_little_room(server: SocketAddr) -> TcpStream {
    let _turn = DOORWAY.acquire().await.expect("it is never closed");
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a socket");
    socket.connect(server).await.expect("it listens")
}

/// What is said until the end, which has to come.
pub(crate) async fn until_ended(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let _reset = timeout(OVER, stream.read_to_end(&mut answer)).await.expect("it is cut off");
    answer
}

/// Nobody was cut off before the time.
fn in_time(ended: &[Duration]) -> String {
    let (first, last) = (ended.iter().min(), ended.iter().max());
    assert!(first.is_some_and(|first| *first >= TIME), "after {first:?}");
    format!("all {} were cut off, the last after {:.1?}", ended.len(), last.copied().unwrap_or_default())
}
