//! Limits in descriptors, where settings allow them and where they do not.

use prost::Message;

use crate::grpc::client::{Client, LIMIT, framed, request};
use crate::grpc::proto::{Code, RateLimitOverride, RateLimitResponse};
use crate::grpc::service::Service;

const OK: i32 = Code::Ok as i32;
const OVER_LIMIT: i32 = Code::OverLimit as i32;

/// Answer to a call whose descriptor brings a limit, or none.
async fn ask(client: &mut Client, limit: Option<RateLimitOverride>) -> RateLimitResponse {
    let mut call = request("alice");
    call.descriptors[0].limit = limit;
    let reply = client.call(LIMIT, &[], framed(&call.encode_to_vec())).await;
    RateLimitResponse::decode(reply.data.slice(5..)).expect("an answer")
}

#[tokio::test]
async fn limits_in_descriptors_obey_the_setting() {
    let large = Some(RateLimitOverride { requests_per_unit: 1_000_000, unit: 2 });
    for (server, is_on) in [
        ("grpc: '127.0.0.1:0'", true),
        ("grpc: '0.0.0.0:0', ad_hoc_limits: true", true),
        ("grpc: '0.0.0.0:0'", false),
        ("grpc: '127.0.0.1:0', ad_hoc_limits: false", false),
    ] {
        let rules = "rules: [{ name: api, key: [user], limits: [1/day] }]";
        let service = Service::start(&format!("server: {{ {server} }}\n{rules}")).await;
        let mut client = service.client().await;
        let answers = [large, large, None, None, large];
        let mut codes = Vec::new();
        for limit in answers {
            let answer = ask(&mut client, limit).await;
            codes.push(answer.overall_code);
            let why = format!("{:?}", answer.dynamic_metadata);
            assert_eq!(limit.is_some() && !is_on, why.contains("server.ad_hoc_limits"), "{server}: {why}");
        }
        // An ad hoc limit replaces the rules: where that is off, it is refused, and nothing is
        // charged.
        let own = if is_on { OK } else { OVER_LIMIT };
        assert_eq!(codes, [own, own, OK, OVER_LIMIT, own], "{server}");
    }
}
