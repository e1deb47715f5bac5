//! Outage of the store, with a rule that denies meanwhile: Envoy gets an error, and decides by
//! itself.

use prost::Message;
use slidegate_testkit::servers::{Flavour, RedisServer};
use tonic::Code;

use crate::grpc::client::{Client, LIMIT, Reply, framed, request};
use crate::grpc::proto::{self, RateLimitResponse};
use crate::grpc::service::Service;

const RULES: &str = "
rules:
  - { name: api, key: [user], limits: [4/h], deny: [{ user: mallory }], on_store_error: deny }
";

/// A call with a descriptor for each of these.
async fn ask(client: &mut Client, users: &[&str]) -> Reply {
    let mut call = request(users[0]);
    call.descriptors.extend(users[1..].iter().flat_map(|user| request(user).descriptors));
    client.call(LIMIT, &[], framed(&call.encode_to_vec())).await
}

#[tokio::test]
async fn what_nobody_knows_is_unavailable_and_what_is_barred_is_refused() {
    let mut redis = RedisServer::start(Flavour::Redis70);
    let store = format!("store: {{ kind: redis, url: '{}', timeout: 30s }}", redis.url());
    let service = Service::start(&format!("{store}\n{RULES}")).await;
    let mut client = service.client().await;
    assert_eq!(ask(&mut client, &["alice"]).await.code(), Code::Ok);
    redis.kill();
    for _ in 0..3 {
        let reply = ask(&mut client, &["alice", "bob"]).await;
        assert_eq!(reply.code(), Code::Unavailable, "{reply:?}");
        assert_eq!(reply.text(), "the store is unavailable, and the rule api denies meanwhile");
    }
    // An error would let it pass.
    let reply = ask(&mut client, &["alice", "mallory"]).await;
    assert_eq!(reply.code(), Code::Ok, "{reply:?}");
    let response = RateLimitResponse::decode(&reply.data[5..]).expect("an answer");
    assert_eq!(response.overall_code, proto::Code::OverLimit as i32);
    // Counted as the response to Envoy.
    let requests = service.app.telemetry().expect("telemetry is on").requests();
    assert_eq!((requests.allowed, requests.failed, requests.blocked, requests.denied), (1, 3, 1, 0));
}
