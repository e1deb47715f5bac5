//! What a request costs: by the descriptor, when it is over, less than nothing, and limits that
//! come along.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::client::{Client, Request};
use super::setup::Setup;
use super::site::Site;

const CHARGED_WITHIN: Duration = Duration::from_secs(10);

fn get<'a>(target: &'a str, headers: &'a [(&'a str, &'a str)]) -> Request<'a> {
    Request { method: "GET", target, headers, body: b"" }
}

#[test]
fn nothing_is_a_look() {
    let setup = Setup::of_page().envoy("hits_addend: { number: 10 }", "hits_addend: { number: 0 }");
    let site = Site::of(&setup, TempDir::new().expect("a folder"));
    for _ in 0..3 {
        assert_eq!(site.ask(Client::FIRST, &get("/export", &[("X-Api-Key", "k-1")])).status, 200);
    }
    assert_eq!(site.left_to("k-1"), 100);
}

#[test]
fn units_are_refunded_where_the_rule_allows_it() {
    let with_route = Setup::of_page().with_block("routes:", "is_negative_hits");
    let refundable = with_route.clone().with_policy_block("limits: [\"100/min\"]");
    for (setup, left) in [(with_route, 80), (refundable, 90)] {
        let site = Site::of(&setup, TempDir::new().expect("a folder"));
        let ask = |target| site.ask(Client::FIRST, &get(target, &[("X-Api-Key", "k-1")])).status;
        assert_eq!((ask("/export"), ask("/export"), site.left_to("k-1")), (200, 200, 80));
        assert_eq!((ask("/cancel"), site.left_to("k-1")), (200, left));
        // Never more than there was.
        assert_eq!([ask("/cancel"), ask("/cancel")], [200, 200]);
        assert_eq!(site.left_to("k-1"), if left == 80 { 80 } else { 100 });
    }
}

#[test]
fn a_response_is_charged_when_it_is_over() {
    let setup = Setup::of_page()
        .with_block("routes:", "apply_on_stream_done")
        .policy("rules:\n", "rules:\n  - {name: bytes, match: {descriptor: bytes_of}, key: [bytes_of], limits: [{quota: 1000, window: 1h, algorithm: counter}]}\n");
    let site = Site::of(&setup, TempDir::new().expect("a folder"));
    let left = || site.left(&[("bytes_of", "k-1")]);
    assert_eq!(left(), 1000);
    let answer = site.ask(Client::FIRST, &get("/download/a", &[("X-Api-Key", "k-1")]));
    assert_eq!((answer.status, answer.text()), (200, "GET /download/a\n"));
    // Envoy does not wait for it before it answers.
    let deadline = Instant::now() + CHARGED_WITHIN;
    while left() == 1000 {
        assert!(Instant::now() < deadline, "it is not charged");
        std::thread::yield_now();
    }
    assert_eq!(left(), 1000 - 16, "the bytes of the body");
}

#[test]
fn a_limit_that_comes_along_holds_instead_of_the_rules() {
    let setup = Setup::of_page()
        .with_block("http_filters:", "requests_per_unit")
        .with_block("routes:", "metadata_key");
    let site = Site::of(&setup, TempDir::new().expect("a folder"));
    let ask = |client: Client, key| client.ask(site.proxy.address(), &get("/report", &[("X-Api-Key", key)]));
    for left in [1, 0] {
        let answer = ask(Client::FIRST, "k-1");
        let remaining = answer.header("ratelimit").and_then(|field| super::parameter(field, "r"));
        assert_eq!((answer.status, remaining), (200, Some(left)), "{answer:?}");
    }
    assert_eq!(ask(Client::FIRST, "k-1").status, 429);
    assert_eq!(ask(Client::FIRST, "k-2").status, 200, "each key has its own");
    assert_eq!(site.left_to("k-1"), 100, "the rule is not asked");
}
