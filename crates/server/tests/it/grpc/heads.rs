//! Header blocks that do not end: cut in the time that a head has, and bounded by what a head may
//! take.

use std::time::Duration;

use prost::Message;
use slidegate_testkit::http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, GOAWAY, HEADERS, PING, Raw, field, frame,
    head,
};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout};

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::service::Service;

/// Time that a head has in these tests.
const TIME: Duration = Duration::from_millis(400);
/// By then it has to be over: five times that, and a second for the last word.
const OVER: Duration = Duration::from_secs(3);

/// Writes the same every while until the connection ends; the reason that was given, and when.
async fn dripping(mut raw: Raw, drip: &[u8]) -> (Option<u32>, Duration) {
    let began = Instant::now();
    let mut reason = None;
    let ended = async {
        loop {
            tokio::select! {
                next = raw.next() => match next {
                    Some(frame) if frame.kind == GOAWAY => reason = Some(frame.number(4)),
                    Some(_) => {}
                    None => break,
                },
                () = sleep(TIME / 20), if !drip.is_empty() => {
                    let _gone = raw.0.write_all(drip).await;
                }
            }
        }
    };
    timeout(OVER, ended).await.expect("it is cut");
    (reason, began.elapsed())
}

/// Nothing more, an empty piece now and then, or half a frame: none of it is an end.
#[tokio::test]
async fn a_block_without_an_end_is_cut_in_its_time() {
    let half = &frame(HEADERS, END_HEADERS, 1, &head(LIMIT))[..20];
    let begun = frame(HEADERS, 0, 1, &head(LIMIT)[..20]);
    let piece = frame(CONTINUATION, 0, 1, &[]);
    let rows = [
        ("silence", &begun[..], &[][..]),
        ("half a frame", half, &[]),
        ("a byte at a time", &half[..10], b"\0"),
        ("half a ping", &frame(PING, 0, 0, &[0; 8])[..12], &[]),
        ("a piece", &[&begun[..], &piece].concat(), &[]),
    ];
    for (what, first, drip) in rows {
        // Idle connections have all the time there is.
        let service = Service::bounded("head_timeout: 400ms, idle_timeout: 60s").await;
        let mut raw = Raw::greeted(service.address, &[]).await;
        raw.write(first).await;
        let (reason, after) = dripping(raw, drip).await;
        assert_eq!(reason, Some(ENHANCE_YOUR_CALM), "{what}");
        assert!(after >= TIME, "{what}: after {after:?}");
        assert_eq!(service.app.connection_stats().ended_slow, 1, "{what}");
        service.answers_others().await;
    }
}

/// A call that waits for the store gives no time to the head of another one.
#[tokio::test]
async fn calls_under_way_give_it_no_time() {
    let service = Service::over_silence("connections: { head_timeout: 400ms, idle_timeout: 60s }").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    let message = framed(&request("alice").encode_to_vec());
    raw.write(&frame(HEADERS, END_HEADERS, 1, &head(LIMIT))).await;
    raw.write(&frame(DATA, END_STREAM, 1, &message)).await;
    raw.write(&frame(HEADERS, 0, 3, &head(LIMIT))).await;
    let (reason, after) = dripping(raw, &[]).await;
    assert_eq!(reason, Some(ENHANCE_YOUR_CALM));
    assert!(after >= TIME, "after {after:?}");
}

/// As much as a head may take, and a frame more.
#[tokio::test]
async fn a_block_without_an_end_takes_no_more_than_a_head() {
    let service = Service::bounded("max_head: 8KiB, head_timeout: 60s, idle_timeout: 60s").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    // One field of 60,000 bytes, of which two pieces come.
    let block = [head(LIMIT), field("x", &[b'x'; 60_000])].concat();
    raw.write(&frame(HEADERS, 0, 1, &block[..6_000])).await;
    raw.write(&frame(CONTINUATION, 0, 1, &block[6_000..10_000])).await;
    let (reason, _) = dripping(raw, &[]).await;
    assert_eq!(reason, Some(ENHANCE_YOUR_CALM));
    assert_eq!(service.app.connection_stats().ended_abusive, 1);
    service.answers_others().await;
}

/// A head in pieces that comes to its end is a call like any other.
#[tokio::test]
async fn a_head_in_pieces() {
    let service = Service::bounded("head_timeout: 400ms, idle_timeout: 60s").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    let message = framed(&request("alice").encode_to_vec());
    for stream in [1, 3, 5] {
        let block = head(LIMIT);
        raw.write(&frame(HEADERS, 0, stream, &block[..10])).await;
        sleep(TIME / 4).await;
        raw.write(&frame(CONTINUATION, 0, stream, &block[10..30])).await;
        sleep(TIME / 4).await;
        raw.write(&frame(CONTINUATION, END_HEADERS, stream, &block[30..])).await;
        raw.write(&frame(DATA, END_STREAM, stream, &message)).await;
        assert_eq!(raw.next_of(DATA).await.expect("an answer").stream, stream);
    }
}
