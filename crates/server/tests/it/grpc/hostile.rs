//! Clients that mean harm: they are ended, and others do not notice.

use std::time::Duration;

use prost::Message;
use slidegate_testkit::http2::{
    ACK, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GOAWAY, HEADERS, PING,
    PREFACE, RST_STREAM, Raw, SETTINGS, field, frame, head, setting,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::service::Service;

/// Sends the same until it is ended; with how much, and why.
async fn until_ended(raw: Raw, mut next: impl FnMut() -> Vec<u8>) -> (usize, Option<u32>) {
    let (mut reading, mut writing) = raw.0.into_split();
    let sends = async move {
        let mut sent_bytes = 0;
        // No more than this has to be taken from anybody.
        while sent_bytes < 1 << 28 {
            let bytes = next();
            if writing.write_all(&bytes).await.is_err() {
                break;
            }
            sent_bytes += bytes.len();
        }
        sent_bytes
    };
    let hears = async move {
        let mut received = Vec::new();
        let _reset = reading.read_to_end(&mut received).await;
        received
    };
    let (sent_bytes, received) =
        timeout(Duration::from_secs(60), async { tokio::join!(sends, hears) }).await.expect("an end");
    (sent_bytes, reason(&received))
}

/// Reason of the last GOAWAY in the output.
fn reason(mut received: &[u8]) -> Option<u32> {
    let mut reason = None;
    while let Some((head, rest)) = received.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let Some((payload, rest)) = rest.split_at_checked(length) else { break };
        if head[3] == GOAWAY {
            reason = Some(u32::from_be_bytes(payload[4..8].try_into().expect("four bytes")));
        }
        received = rest;
    }
    reason
}

/// Calls that are taken back as soon as they are made: work without an end, if it were begun.
#[tokio::test]
async fn rapid_reset() {
    let service = Service::with("").await;
    let raw = Raw::greeted(service.address, &[]).await;
    let mut stream = 1;
    let resets = || {
        let mut bytes = Vec::new();
        for _ in 0..100 {
            bytes.extend(frame(HEADERS, END_HEADERS, stream, &head(LIMIT)));
            bytes.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
            stream += 2;
        }
        bytes
    };
    let (sent_bytes, reason) = until_ended(raw, resets).await;
    assert_eq!(reason, Some(ENHANCE_YOUR_CALM), "after {sent_bytes} bytes");
    service.answers_others().await;
}

/// Envoy cancels a call that has waited for long. Many of them at once are no attack.
#[tokio::test]
async fn calls_that_were_cancelled_while_nobody_looked() {
    let service = Service::with("").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    let message = framed(&request("alice").encode_to_vec());
    let call = |stream| {
        [frame(HEADERS, END_HEADERS, stream, &head(LIMIT)), frame(DATA, END_STREAM, stream, &message)]
            .concat()
    };
    // In one go, so that there is no moment at which anybody could look.
    let mut bytes = Vec::new();
    for stream in (1..).step_by(2).take(1_000) {
        bytes.extend(call(stream));
        bytes.extend(frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
    }
    bytes.extend(call(2_001));
    raw.write(&bytes).await;
    let answered = async {
        loop {
            let data = raw.next_of(DATA).await.expect("the connection is still there");
            if data.stream == 2_001 {
                break;
            }
        }
    };
    timeout(Duration::from_secs(10), answered).await.expect("an answer in time");
}

/// A head that never ends, in frames that are small, and in frames that are empty.
#[tokio::test]
async fn continuations_without_an_end() {
    for (what, piece) in [("small", field("x", &[b'x'; 1_000])), ("empty", vec![])] {
        let service = Service::with("").await;
        let mut raw = Raw::greeted(service.address, &[]).await;
        raw.write(&frame(HEADERS, 0, 1, &head(LIMIT))).await;
        let (sent_bytes, reason) = until_ended(raw, || frame(CONTINUATION, 0, 1, &piece).repeat(10)).await;
        assert!(sent_bytes < 64 << 20, "{what}: {sent_bytes} bytes");
        assert!(reason.is_some(), "{what}");
        service.answers_others().await;
    }
}

/// Many calls with nothing in them, each in an empty frame.
#[tokio::test]
async fn frames_with_nothing_in_them() {
    let service = Service::with("").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    raw.write(&frame(HEADERS, END_HEADERS, 1, &head(LIMIT))).await;
    let (_, reason) = until_ended(raw, || frame(0, 0, 1, &[]).repeat(100)).await;
    assert_eq!(reason, Some(ENHANCE_YOUR_CALM));
    service.answers_others().await;
}

/// Pings and settings that it does not read the answers to: it is not read from either then, and
/// ends.
#[tokio::test]
async fn questions_whose_answers_nobody_reads() {
    for question in [frame(PING, 0, 0, &[0; 8]), setting(3, 100)] {
        let service = Service::bounded("write_timeout: 400ms, idle_timeout: 1s").await;
        let mut raw = Raw::greeted(service.address, &[]).await;
        let questions = question.repeat(1_000);
        let writes = async { while raw.0.write_all(&questions).await.is_ok() {} };
        timeout(Duration::from_secs(60), writes).await.expect("an end");
        service.answers_others().await;
    }
}

/// What is not HTTP/2 is closed.
#[tokio::test]
async fn other_protocols() {
    let service = Service::with("").await;
    for bytes in
        [&b"GET / HTTP/1.1\r\nhost: test\r\n\r\n"[..], b"*1\r\n$4\r\nPING\r\n", &[0x16, 3, 1, 2, 0, 1, 0, 1]]
    {
        let mut raw = Raw::connect(service.address).await;
        raw.write(&[bytes, &[b' '; 24]].concat()).await;
        let mut rest = Vec::new();
        let read = timeout(Duration::from_secs(10), raw.0.read_to_end(&mut rest)).await;
        let _reset = read.expect("at once");
    }
    service.answers_others().await;
}

/// Frames that break the rules end the connection with a reason, and nobody else's.
#[tokio::test]
async fn what_breaks_the_rules() {
    let service = Service::with("").await;
    let rows = [
        ("a call with an even number", frame(HEADERS, END_HEADERS, 2, &head(LIMIT))),
        ("data of no call", frame(0, END_STREAM, 1, b"data")),
        ("a frame that is too long", frame(0, 0, 1, &[0; 16_385])),
        ("settings of a call", frame(SETTINGS, 0, 1, &[])),
        ("an answer with settings in it", frame(SETTINGS, ACK, 0, &[0; 6])),
        ("a ping of seven bytes", frame(PING, 0, 0, &[0; 7])),
        ("a window that is too large", setting(4, u32::MAX)),
        ("what is no table of fields", frame(HEADERS, END_HEADERS, 1, &[0xFF; 40])),
        ("no room at all", frame(8, 0, 0, &[0; 4])),
    ];
    for (what, bytes) in rows {
        let mut raw = Raw::connect(service.address).await;
        raw.write(&[PREFACE, &frame(SETTINGS, 0, 0, &[]), &bytes].concat()).await;
        let goaway = timeout(Duration::from_secs(10), raw.next_of(GOAWAY)).await.expect("at once");
        assert_ne!(goaway.unwrap_or_else(|| panic!("{what}: no word")).number(4), 0, "{what}");
        while timeout(Duration::from_secs(10), raw.next()).await.expect("an end").is_some() {}
    }
    service.answers_others().await;
}
