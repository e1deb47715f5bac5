//! Answers as a whole.

use serde_json::json;

use super::{RULES, ask, statuses};
use crate::http::service::{BOTH, Kind, Service};

#[tokio::test]
async fn a_call_is_answered_in_full() {
    for kind in BOTH {
        let service = Service::start(kind, RULES).await;
        let mut client = service.client().await;
        let both = ["user=alice", "org=acme path=/a", "other=x"];
        let expected = json!({
            "overallCode": "OK",
            "statuses": [
                {
                    "code": "OK", "limitRemaining": 1, "durationUntilReset": "3600s",
                    "currentLimit": { "requestsPerUnit": 2, "unit": "MINUTE", "name": "user-2/min" },
                },
                {
                    "code": "OK", "limitRemaining": 4, "durationUntilReset": "90s",
                    "currentLimit": { "requestsPerUnit": 5, "unit": "UNKNOWN", "name": "org-5/90s" },
                },
                { "code": "OK" },
            ],
            "responseHeadersToAdd": [
                { "key": "ratelimit-policy",
                  "value": "\"user-2/min\";q=2;w=60, \"user-50/h\";q=50;w=3600, \"org-5/90s\";q=5;w=90" },
                { "key": "ratelimit",
                  "value": "\"user-2/min\";r=1;t=60, \"user-50/h\";r=49;t=3600, \"org-5/90s\";r=4;t=90" },
            ],
        });
        let first = ask(&mut client, &both).await;
        assert_eq!((first.status, first.json()), (200, expected), "{kind:?}");
        service.advance_ms(1_500);
        assert_eq!(ask(&mut client, &both).await.status, 200);
        let expected = json!({
            "overallCode": "OVER_LIMIT",
            "statuses": [
                {
                    "code": "OVER_LIMIT", "limitRemaining": 0, "durationUntilReset": "3600s",
                    "currentLimit": { "requestsPerUnit": 2, "unit": "MINUTE", "name": "user-2/min" },
                },
                {
                    "code": "OK", "limitRemaining": 3, "durationUntilReset": "90s",
                    "currentLimit": { "requestsPerUnit": 5, "unit": "UNKNOWN", "name": "org-5/90s" },
                },
                { "code": "OK" },
            ],
            "responseHeadersToAdd": [
                { "key": "ratelimit-policy",
                  "value": "\"user-2/min\";q=2;w=60, \"user-50/h\";q=50;w=3600, \"org-5/90s\";q=5;w=90" },
                { "key": "ratelimit", "value": "\"user-2/min\";r=0;t=59, \"user-50/h\";r=48, \"org-5/90s\";r=3" },
                { "key": "retry-after", "value": "59" },
            ],
            "dynamicMetadata": { "violated": [{ "rule": "user", "limit": "2/min" }] },
        });
        let refused = ask(&mut client, &both).await;
        assert_eq!((refused.status, refused.json()), (429, expected), "{kind:?}");
        // Nothing of it was charged.
        let look = ask(&mut client, &["org=acme path=/a"]).await;
        assert_eq!(statuses(&look), "OK 2", "{kind:?}");
    }
}

#[tokio::test]
async fn numbers_beyond_the_range_of_envoy_are_clamped() {
    let rules = "rules: [{ name: all, limits: [{ quota: 5000000000, window: 1h, algorithm: counter }] }]";
    let service = Service::start(Kind::Memory, rules).await;
    let answer = ask(&mut service.client().await, &["a=b"]).await;
    assert_eq!(answer.at("/statuses/0/currentLimit/requestsPerUnit"), json!(u32::MAX));
    assert_eq!(statuses(&answer), format!("OK {}", u32::MAX));
}

#[tokio::test]
async fn headers_are_in_the_style_of_the_settings() {
    let rules = "
server: { headers: x-ratelimit }
rules: [{ name: a, match: { a: x }, limits: [9/min] }, { name: b, match: { b: x }, limits: [2/h] }]
";
    let service = Service::start(Kind::Memory, rules).await;
    let answer = ask(&mut service.client().await, &["a=x", "b=x"]).await;
    let headers = answer.at("/responseHeadersToAdd");
    let text =
        |index: usize| format!("{}: {}", headers[index]["key"], headers[index]["value"]).replace('"', "");
    assert_eq!(
        [text(0), text(1), text(2)],
        ["x-ratelimit-limit: 2", "x-ratelimit-remaining: 1", "x-ratelimit-reset: 3600"]
    );
}
