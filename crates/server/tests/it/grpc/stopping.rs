//! Shutdown: clients get GOAWAY, and calls in progress are answered.

use std::time::Duration;

use prost::Message;
use slidegate_testkit::http2::{ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, Raw, frame, head};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tonic::Code;

use crate::grpc::client::{LIMIT, framed, request};
use crate::grpc::service::Service;

async fn until_closed(service: &Service) {
    while TcpStream::connect(service.address).await.is_ok() {}
}

/// Half of a call is here, and the rest comes when it is over for everybody else.
#[tokio::test]
async fn what_was_begun_is_answered() {
    let message = framed(&request("alice").encode_to_vec());
    for sent_bytes in [0, 3, message.len()] {
        let mut service = Service::with("").await;
        let mut client = service.client().await;
        assert_eq!(client.limit("alice").await.code(), Code::Ok);
        let mut call = client.begin(LIMIT, &[]).await.expect("a call");
        if sent_bytes > 0 {
            call.body.send_data(message.slice(..sent_bytes), false).expect("a call");
        }
        // The service has heard of the call when it has answered one that came after it.
        assert_eq!(client.limit("alice").await.code(), Code::Ok);
        service.tell_to_stop();
        until_closed(&service).await;
        call.body.send_data(message.slice(sent_bytes..), true).expect("a call");
        assert_eq!(call.reply().await.expect("an answer").code(), Code::Ok, "{sent_bytes}");
        drop(client);
        service.ended().await;
    }
}

/// Idle connections get GOAWAY, and end in order.
#[tokio::test]
async fn an_idle_connection_gets_goaway() {
    let mut service = Service::with("").await;
    let mut idle = service.client().await;
    assert_eq!(idle.limit("alice").await.code(), Code::Ok);
    let fresh = service.client().await;
    service.tell_to_stop();
    assert!(idle.ended_well().await);
    assert!(fresh.ended_well().await);
    service.ended().await;
}

/// GOAWAY comes in two steps, so that a call which was on its way is answered: first that there
/// will be an end, then after which call it is.
#[tokio::test]
async fn a_call_that_crosses_the_word_is_answered() {
    let mut service = Service::with("").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    service.tell_to_stop();
    let first = raw.next_of(GOAWAY).await.expect("a word");
    assert_eq!((first.number(0), first.number(4)), (i32::MAX as u32, 0));
    let ping = raw.next_of(PING).await.expect("a question");
    let message = framed(&request("alice").encode_to_vec());
    let call = [frame(HEADERS, END_HEADERS, 1, &head(LIMIT)), frame(DATA, END_STREAM, 1, &message)].concat();
    raw.write(&call).await;
    assert_eq!(raw.next_of(DATA).await.expect("an answer").stream, 1);
    raw.write(&frame(PING, ACK, 0, &ping.payload)).await;
    let last = raw.next_of(GOAWAY).await.expect("a word");
    assert_eq!((last.number(0), last.number(4)), (1, 0));
    assert_eq!(raw.next_of(DATA).await, None);
    service.ended().await;
}

/// While balancers have time to notice, all clients are answered, and get GOAWAY.
#[tokio::test]
async fn balancers_have_time_to_notice() {
    let mut service = Service::with("shutdown_delay: 2s").await;
    let mut open = service.client().await;
    assert_eq!(open.limit("alice").await.code(), Code::Ok);
    service.tell_to_stop();
    while service.app.is_ready() {
        tokio::task::yield_now().await;
    }
    let fresh = service.client().await;
    for mut client in [open, fresh] {
        assert_eq!(client.limit("alice").await.code(), Code::Ok);
        assert!(client.ended_well().await);
    }
    service.ended().await;
    assert!(TcpStream::connect(service.address).await.is_err());
}

/// The store does not answer: nobody is left without a word when the time is over.
#[tokio::test]
async fn open_requests_get_an_error_at_the_deadline() {
    let mut service = Service::over_silence("shutdown_timeout: 400ms").await;
    let mut client = service.client().await;
    let mut call = client.begin(LIMIT, &[]).await.expect("a call");
    call.body.send_data(framed(&request("alice").encode_to_vec()), true).expect("a call");
    let health = client.call("/grpc.health.v1.Health/Check", &[], framed(&[])).await;
    assert_eq!(health.code(), Code::Ok);
    let began = Instant::now();
    service.tell_to_stop();
    let reply = timeout(Duration::from_secs(2), call.reply()).await.expect("five times as long");
    let reply = reply.expect("an answer");
    assert_eq!(reply.code(), Code::Unavailable, "{reply:?}");
    assert!(began.elapsed() >= Duration::from_millis(400));
    service.ended().await;
}

/// Whoever does not listen is not waited for.
#[tokio::test]
async fn who_does_not_hear_ended_well() {
    let mut service = Service::with("shutdown_timeout: 400ms").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    let message = framed(&request("alice").encode_to_vec());
    let call = |stream| {
        [frame(HEADERS, END_HEADERS, stream, &head(LIMIT)), frame(DATA, END_STREAM, stream, &message)]
            .concat()
    };
    raw.write(&call(1)).await;
    service.tell_to_stop();
    // It goes on as if nothing were, and does not answer pings.
    let goes_on = async {
        let mut stream = 3;
        while tokio::io::AsyncWriteExt::write_all(&mut raw.0, &call(stream)).await.is_ok() {
            stream += 2;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::join!(goes_on, service.ended());
}

/// A ping is answered to the end.
#[tokio::test]
async fn pings_are_answered() {
    let service = Service::with("").await;
    let mut raw = Raw::greeted(service.address, &[]).await;
    raw.write(&frame(PING, 0, 0, b"12345678")).await;
    loop {
        let frame = raw.next().await.expect("a frame");
        if frame.kind == PING {
            assert_eq!((frame.flags, &frame.payload[..]), (ACK, &b"12345678"[..]));
            return;
        }
    }
}
