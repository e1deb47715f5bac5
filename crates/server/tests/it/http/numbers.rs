//! The numbers of a request: one definition, in the body, in every style of headers and in Envoy's
//! statuses.

use serde_json::{Value, json};

use crate::http::client::Response;
use crate::http::service::{BOTH, Kind, Service};

const RULES: &str = "
rules:
  - { name: two, match: { case: two }, key: [user], limits: [5/min, 12/10min] }
  - { name: jobs, match: { case: jobs }, key: [user], limits: [{ in_flight: 2, hold: 30s }, 20/min] }
  - { name: slots, match: { case: slots }, key: [user], limits: [{ in_flight: 1, hold: 30s }] }
  - { name: first, match: { case: both }, key: [user], limits: [9/h] }
  - { name: second, match: { case: both }, key: [user], limits: [9/min] }
  - { name: watch, key: [user], mode: observe, limits: [1/day] }
";

/// A case, a cost, and the quota, what remains, the wait and the reset. `null` is what nobody can
/// tell.
const STEPS: [(&str, u64, [Option<u64>; 4]); 11] = [
    ("two", 5, [Some(5), Some(0), None, Some(600_000)]),
    ("two", 8, [Some(5), Some(0), None, Some(600_000)]),
    ("two", 5, [Some(5), Some(0), Some(60_000), Some(600_000)]),
    ("jobs", 9, [Some(20), Some(11), None, Some(60_000)]),
    ("jobs", 9, [Some(2), Some(0), None, Some(60_000)]),
    ("jobs", 1, [Some(2), Some(0), None, Some(60_000)]),
    ("slots", 0, [None, None, None, Some(0)]),
    ("slots", 9, [Some(1), Some(0), None, Some(30_000)]),
    ("both", 9, [Some(9), Some(0), None, Some(3_600_000)]),
    ("both", 1, [Some(9), Some(0), Some(3_600_000), Some(3_600_000)]),
    ("both", 10, [Some(9), Some(0), None, Some(3_600_000)]),
];

async fn service(kind: Kind, style: &str) -> Service {
    Service::start(kind, &format!("server: {{ headers: {style} }}\n{RULES}")).await
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64()
}

fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1_000)
}

fn header(answer: &Response, name: &str) -> Option<u64> {
    answer.header(name).map(|value| value.parse().expect("a number"))
}

#[tokio::test]
async fn bodies_and_older_headers() {
    for (style, prefix) in [("legacy", "ratelimit-"), ("x-ratelimit", "x-ratelimit-")] {
        for kind in BOTH {
            let service = service(kind, style).await;
            let mut client = service.client().await;
            for (case, cost, [quota, remaining, wait_ms, reset_ms]) in STEPS {
                let body = json!({ "attributes": { "case": case, "user": "alice" }, "cost": cost });
                let answer = client.post("/v1/check", &body).await;
                let numbers = ["remaining", "retry_after_ms", "reset_after_ms"]
                    .map(|member| number(&answer.at(&format!("/{member}"))));
                assert_eq!(numbers, [remaining, wait_ms, reset_ms], "{kind:?} {case} {cost}");
                let numbers =
                    ["limit", "remaining", "reset"].map(|name| header(&answer, &format!("{prefix}{name}")));
                let reset = quota.and(reset_ms).map(seconds);
                assert_eq!(numbers, [quota, remaining, reset], "{kind:?} {case} {cost}");
                assert_eq!(header(&answer, "retry-after"), wait_ms.map(seconds), "{kind:?} {case} {cost}");
            }
        }
    }
}

#[tokio::test]
async fn statuses_of_descriptors() {
    for kind in BOTH {
        let service = service(kind, "none").await;
        let mut client = service.client().await;
        for (case, cost, [quota, remaining, _, reset_ms]) in STEPS {
            let entries = json!([{ "key": "case", "value": case }, { "key": "user", "value": "alice" }]);
            let body = json!({ "domain": "d", "descriptors": [{ "entries": entries, "hitsAddend": cost }] });
            let answer = client.post("/json", &body).await;
            let status = answer.at("/statuses/0");
            let numbers =
                (number(&status["currentLimit"]["requestsPerUnit"]), number(&status["limitRemaining"]));
            assert_eq!(numbers, (quota, remaining), "{kind:?} {case} {cost}: {status}");
            let reset = quota.and(reset_ms).map(|ms| format!("{}s", ms / 1_000));
            assert_eq!(status["durationUntilReset"].as_str().map(str::to_owned), reset, "{case} {cost}");
        }
    }
}

/// What remains is the largest cost that fits: so much does, and one unit more does not.
#[tokio::test]
async fn what_remains_fits_exactly() {
    for kind in BOTH {
        let service = service(kind, "none").await;
        let mut client = service.client().await;
        for (case, used) in [("two", 2), ("jobs", 7), ("both", 4)] {
            let body = |cost: u64| json!({ "attributes": { "case": case, "user": "bob" }, "cost": cost });
            let first = client.post("/v1/check", &body(used)).await;
            assert_eq!(first.status, 200, "{kind:?} {case}");
            let remaining = number(&first.at("/remaining")).expect("a number");
            let more = client.post("/v1/check", &body(remaining + 1)).await;
            assert_eq!((more.status, number(&more.at("/remaining"))), (429, Some(remaining)), "{case}");
            assert_eq!(client.post("/v1/check", &body(remaining)).await.status, 200, "{kind:?} {case}");
        }
    }
}
