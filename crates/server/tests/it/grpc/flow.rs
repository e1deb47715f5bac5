//! Clients that do not take their answers.

use std::time::Duration;

use prost::Message;
use slidegate_testkit::http2::{
    CANCEL, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, RST_STREAM, Raw, WINDOW_UPDATE, frame, head,
    setting,
};
use tokio::net::TcpSocket;
use tokio::time::{Instant, timeout};
use tonic::Code;

use crate::grpc::client::{Client, LIMIT, framed, request};
use crate::grpc::proto::{RateLimitResponse, UInt64Value};
use crate::grpc::service::Service;

/// How much of an answer a client has room for at first.
const INITIAL_WINDOW_SIZE: u16 = 4;

fn call(stream: u32) -> Vec<u8> {
    let message = framed(&request("alice").encode_to_vec());
    [frame(HEADERS, END_HEADERS, stream, &head(LIMIT)), frame(DATA, END_STREAM, stream, &message)].concat()
}

/// It gets what it has room for, and the rest as it makes room.
#[tokio::test]
async fn a_client_with_little_room() {
    let service = Service::with("").await;
    let stream = tokio::net::TcpStream::connect(service.address).await.expect("a connection");
    let handshake = h2::client::Builder::new().initial_window_size(3).handshake(stream);
    let (mut requests, connection) = handshake.await.expect("HTTP/2");
    tokio::spawn(connection);
    let head = hyper::Request::post(format!("http://test{LIMIT}")).header("content-type", "application/grpc");
    let (response, mut body) =
        requests.send_request(head.body(()).expect("a request"), false).expect("a call");
    body.send_data(framed(&request("alice").encode_to_vec()), true).expect("a call");
    let reply = crate::grpc::client::Call { response, body }.reply().await.expect("an answer");
    assert_eq!((reply.code(), &reply.data), (Code::Ok, &framed(&reply.data[5..])));
    assert!(reply.data.len() > 100, "more than it had room for");
}

/// A call whose answer nobody makes room for is over after a while; the connection is not.
#[tokio::test]
async fn a_client_without_room() {
    let service = Service::bounded("write_timeout: 400ms").await;
    let mut raw = Raw::greeted(service.address, &setting(INITIAL_WINDOW_SIZE, 0)).await;
    let began = Instant::now();
    raw.write(&[call(1), call(3)].concat()).await;
    for stream in [1, 3] {
        let reset =
            timeout(Duration::from_secs(2), raw.next_of(RST_STREAM)).await.expect("five times as long");
        let reset = reset.expect("a frame");
        assert_eq!((reset.stream, reset.number(0)), (stream, CANCEL));
    }
    assert!(began.elapsed() >= Duration::from_millis(400));
    // Now there is room.
    raw.write(&[setting(INITIAL_WINDOW_SIZE, 1_000), call(5)].concat()).await;
    assert_eq!(raw.next_of(DATA).await.expect("an answer").stream, 5);
    service.answers_others().await;
}

/// As many calls as may be concurrent are in memory, and no more.
#[tokio::test]
async fn many_answers_without_room() {
    let service = Service::bounded("write_timeout: 10s").await;
    let mut raw = Raw::greeted(service.address, &setting(INITIAL_WINDOW_SIZE, 0)).await;
    let calls: Vec<u8> = (0..300).flat_map(|number| call(2 * number + 1)).collect();
    raw.write(&calls).await;
    let mut refused = 0;
    while refused < 300 - 256 {
        let reset = timeout(Duration::from_secs(10), raw.next_of(RST_STREAM)).await.expect("at once");
        assert!(reset.expect("a frame").stream > 2 * 256);
        refused += 1;
    }
    service.answers_others().await;
}

/// How much alice has left, without asking for any of it.
async fn left(client: &mut Client) -> u32 {
    let mut look = request("alice");
    look.descriptors[0].hits_addend = Some(UInt64Value { value: 0 });
    let reply = client.call(LIMIT, &[], framed(&look.encode_to_vec())).await;
    let response = RateLimitResponse::decode(&reply.data[5..]).expect("an answer");
    response.statuses[0].limit_remaining
}

/// The client reads nothing at all, and the system has no space for more responses.
#[tokio::test]
async fn a_client_that_does_not_read() {
    let service = Service::bounded("write_timeout: 400ms").await;
    let mut other = service.client().await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a socket");
    let mut raw = Raw(socket.connect(service.address).await.expect("a connection"));
    let room = [
        setting(INITIAL_WINDOW_SIZE, i32::MAX as u32),
        frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes()),
    ];
    raw.write(&[PREFACE, &room.concat()].concat()).await;
    let full = left(&mut other).await;
    let ended = async {
        for round in 0.. {
            let calls: Vec<u8> = (0..100).flat_map(|number| call(200 * round + 2 * number + 1)).collect();
            raw.write(&calls).await;
            // No more at a time than it may have.
            while left(&mut other).await > full - 100 * (round + 1) {
                if service.app.connection_stats().ended_slow == 1 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    timeout(Duration::from_secs(60), ended).await.expect("an end");
    service.until_open(1).await;
    service.answers_others().await;
}
