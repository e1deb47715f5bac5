//! Calls that need no token: what anybody may send has narrow bounds, and is in nobody else's way.

use std::time::Duration;

use bytes::Bytes;
use slidegate_testkit::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, Raw, frame, head, setting};
use tokio::time::timeout;
use tonic::Code;

use crate::grpc::client::{Call, Client, framed};
use crate::grpc::service::Service;

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const OPEN: [&str; 3] = [CHECK, WATCH, REFLECTION];
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// How much of a client's answers it has room for at first.
const INITIAL_WINDOW_SIZE: u16 = 4;

/// Message of this length with an unknown field only.
fn blank(bytes: usize) -> Bytes {
    let text_bytes = bytes - 3;
    let head = [0x7A, (text_bytes % 128) as u8 | 128, (text_bytes / 128) as u8];
    framed(&[&head[..], &vec![b'x'; text_bytes]].concat())
}

#[tokio::test]
async fn a_message_is_short() {
    let service = Service::with("").await;
    let mut client = service.client().await;
    for path in OPEN {
        let mut call = client.begin(path, &[]).await.expect("a call");
        call.body.send_data(blank(MAX_MESSAGE_BYTES), true).expect("a call");
        let answered = call.response.await.expect("an answer");
        assert_eq!(answered.headers().get("grpc-status"), None, "{path}");
        let longer = client.call(path, &[], blank(MAX_MESSAGE_BYTES + 1)).await;
        assert_eq!(longer.code(), Code::ResourceExhausted, "{path}");
        assert_eq!(longer.text(), "a message has at most 4096 bytes, not 4097", "{path}");
    }
}

/// A call whose message has come but for its last byte.
async fn half(client: &mut Client, path: &str) -> Call {
    let message = blank(MAX_MESSAGE_BYTES);
    let mut call = client.begin(path, &[]).await.expect("a call");
    call.body.send_data(message.slice(..message.len() - 1), false).expect("a call");
    call
}

/// Halves of messages on one connection take little together; on others nobody notices.
#[tokio::test]
async fn who_fills_its_room_is_in_its_own_way() {
    let service = Service::bounded("body_timeout: 60s").await;
    for path in OPEN {
        let mut client = service.client().await;
        let _open = half(&mut client, path).await;
        let refused = half(&mut client, path).await.reply();
        let refused = timeout(Duration::from_secs(10), refused).await.expect("at once").expect("an answer");
        assert_eq!(refused.code(), Code::Unavailable, "{path}");
        let mut others = service.client().await;
        let mut call = half(&mut others, CHECK).await;
        call.body.send_data(Bytes::from_static(b"x"), true).expect("a call");
        assert_eq!(call.reply().await.expect("an answer").code(), Code::Ok, "{path}");
        service.answers_others().await;
    }
}

/// Questions upon questions, without any room for the answers.
#[tokio::test]
async fn who_asks_and_does_not_listen() {
    let service = Service::bounded("write_timeout: 60s").await;
    let mut raw = Raw::greeted(service.address, &setting(INITIAL_WINDOW_SIZE, 0)).await;
    raw.write(&frame(HEADERS, END_HEADERS, 1, &head(REFLECTION))).await;
    for _ in 0..4 {
        raw.write(&frame(DATA, 0, 1, &blank(MAX_MESSAGE_BYTES))).await;
    }
    let ended = async {
        loop {
            let head = raw.next_of(HEADERS).await.expect("an end of the call");
            if head.flags & END_STREAM != 0 {
                break;
            }
        }
    };
    timeout(Duration::from_secs(10), ended).await.expect("before anybody has lost patience");
    service.answers_others().await;
}
