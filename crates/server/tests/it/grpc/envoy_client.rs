//! The client that is generated from Envoy's own files, unmodified, over both stores.

use std::time::Duration;

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use slidegate_testkit::servers::{Flavour, RedisServer};
use tonic::transport::{Channel, Endpoint};

use crate::grpc::service::Service;

const RULES: &str = "
rules:
  - { name: user, match: { domain: shop, descriptor: user }, key: [user], limits: [3/h] }
  - { name: path, match: { domain: shop, path: /buy }, key: [path], limits: [100/h] }
";

async fn client(service: &Service) -> RateLimitServiceClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", service.address)).expect("an address");
    let channel = endpoint.timeout(Duration::from_secs(30)).connect().await.expect("a connection");
    RateLimitServiceClient::new(channel)
}

fn descriptor(entries: &[(&str, &str)], hits: Option<u64>) -> RateLimitDescriptor {
    let entry = |(key, value): &(&str, &str)| Entry { key: (*key).to_owned(), value: (*value).to_owned() };
    RateLimitDescriptor {
        entries: entries.iter().map(entry).collect(),
        hits_addend: hits.map(|value| UInt64Value { value }),
        ..RateLimitDescriptor::default()
    }
}

fn request(descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest { domain: "shop".to_owned(), descriptors, hits_addend: 0 }
}

/// What is left of each descriptor's limit.
fn left(response: &RateLimitResponse) -> Vec<u32> {
    response.statuses.iter().map(|status| status.limit_remaining).collect()
}

#[tokio::test]
async fn a_conversation() {
    let redis = RedisServer::start(Flavour::Redis70);
    let store = format!("store: {{ kind: redis, url: '{}', timeout: 30s }}", redis.url());
    for store in ["", &store] {
        let service = Service::start(&format!("{store}\n{RULES}")).await;
        let mut client = client(&service).await;
        let both = |hits| vec![descriptor(&[("user", "alice")], hits), descriptor(&[("path", "/buy")], None)];
        let first = client.should_rate_limit(request(both(None))).await.expect("an answer").into_inner();
        assert_eq!((first.overall_code(), left(&first)), (Code::Ok, vec![2, 99]));
        let names: Vec<_> = first.response_headers_to_add.iter().map(|header| &*header.key).collect();
        assert!(names.iter().any(|name| name.eq_ignore_ascii_case("ratelimit")), "{names:?}");
        // One that does not fit leaves the other uncharged.
        let denied = client.should_rate_limit(request(both(Some(3)))).await.expect("an answer").into_inner();
        assert_eq!((denied.overall_code(), left(&denied)), (Code::OverLimit, vec![2, 99]));
        let codes: Vec<_> = denied.statuses.iter().map(|status| status.code()).collect();
        assert_eq!(codes, [Code::OverLimit, Code::Ok]);
        let nothing = client.should_rate_limit(request(vec![])).await.expect_err("it asks for nothing");
        assert_eq!(nothing.code(), tonic::Code::InvalidArgument);
    }
}

/// Many at a time, on one connection: as many get in as fit.
#[tokio::test]
async fn all_at_once() {
    let service = Service::start("rules: [{ name: user, key: [user], limits: [100/h] }]").await;
    let client = client(&service).await;
    let calls: Vec<_> = (0..500)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move {
                let request = request(vec![descriptor(&[("user", "alice")], None)]);
                client.should_rate_limit(request).await.expect("an answer").into_inner().overall_code()
            })
        })
        .collect();
    let mut admitted = 0;
    for call in calls {
        admitted += usize::from(call.await.expect("a call") == Code::Ok);
    }
    assert_eq!(admitted, 100);
}
