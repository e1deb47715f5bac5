//! Calls that are not complete: some connections cannot use up what all of them share.

use std::time::Duration;

use prost::Message;
use slidegate_testkit::http2::{DATA, END_HEADERS, HEADERS, Raw, frame, head};
use tokio::time::{sleep, timeout};
use tonic::Code;

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::service::Service;

const CONNECTIONS: usize = 10;
const CALLS: u32 = 256;
/// What comes of each, in frames that are as large as they may be.
const FRAMES: usize = 3;
const FRAME_BYTES: usize = 16 << 10;

#[tokio::test]
async fn ten_connections_do_not_use_it_up() {
    let service = Service::bounded("body_timeout: 60s").await;
    let message = [&[0][..], &60_000_u32.to_be_bytes(), &[0; FRAME_BYTES - 5]].concat();
    let mut attackers = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut raw = Raw::greeted(service.address, &[]).await;
        for stream in (1..).step_by(2).take(CALLS as usize) {
            raw.write(&frame(HEADERS, END_HEADERS, stream, &head(LIMIT))).await;
            for _ in 0..FRAMES {
                raw.write(&frame(DATA, 0, stream, &message)).await;
            }
        }
        attackers.push(raw);
    }
    let message = framed(&request("alice").encode_to_vec());
    for _ in 0..10 {
        let mut client = service.client().await;
        let mut call = client.begin(LIMIT, &[]).await.expect("a call");
        call.body.send_data(message.slice(..10), false).expect("a call");
        sleep(Duration::from_millis(20)).await;
        call.body.send_data(message.slice(10..), true).expect("a call");
        let reply =
            timeout(Duration::from_secs(10), call.reply()).await.expect("in time").expect("an answer");
        assert_eq!(reply.code(), Code::Ok, "{reply:?}");
    }
}
