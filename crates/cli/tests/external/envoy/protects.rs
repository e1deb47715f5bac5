//! What the configuration of the page does for the API.

use tempfile::TempDir;

use super::client::{Client, Request};
use super::setup::Setup;
use super::site::Site;
use super::{SEARCH, parameter};

#[test]
fn over_the_limit_is_429() {
    let site = Site::open();
    for left in [2, 1, 0] {
        let answer = site.ask(Client::FIRST, &SEARCH);
        assert_eq!((answer.status, answer.text()), (200, "GET /search?q=saw\n"), "{answer:?}");
        let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("{name}: {answer:?}"));
        assert_eq!(parameter(header("ratelimit"), "r"), Some(left));
        assert_eq!(header("ratelimit-policy"), r#""search-3/min";q=3;w=60"#);
        assert_eq!(answer.header("retry-after"), None, "{answer:?}");
    }
    let admitted = site.upstream.count();
    let answer = site.ask(Client::FIRST, &SEARCH);
    assert_eq!(answer.status, 429, "{answer:?}");
    assert_eq!(site.upstream.count(), admitted, "what is refused does not reach the API");

    let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("{name}: {answer:?}"));
    let retry_after_s: u64 = header("retry-after").parse().expect("seconds");
    assert!((1..=60).contains(&retry_after_s), "{answer:?}");
    assert_eq!(parameter(header("ratelimit"), "r"), Some(0));
    assert_eq!(parameter(header("ratelimit"), "t"), Some(retry_after_s));
    assert_eq!(header("ratelimit-policy"), r#""search-3/min";q=3;w=60"#);
    assert_eq!(header("x-envoy-ratelimited"), "true");

    assert_eq!(site.ask(Client::SECOND, &SEARCH).status, 200, "another client has a limit of its own");
    let elsewhere = site.ask(Client::FIRST, &Request { target: "/elsewhere", ..SEARCH });
    assert_eq!((elsewhere.status, elsewhere.header("ratelimit")), (200, None), "no rule is for it");
}

/// By the numbers of the listener of checks.
#[test]
fn a_denial_in_one_descriptor_leaves_the_others_uncharged() {
    let site = Site::of(&Setup::of_page().policy("100/min", "12/min"), TempDir::new().expect("a folder"));
    let keyed = Request { headers: &[("X-Api-Key", "k-1")], ..SEARCH };
    let export = Request { target: "/export", ..keyed };
    let searches = |client| site.left(&[("method", "GET"), ("path", "/search"), ("ip", client)]);

    site.exhaust(Client::FIRST);
    for _ in 0..3 {
        assert_eq!(site.ask(Client::FIRST, &keyed).status, 429);
        assert_eq!(site.left_to("k-1"), 12, "the key pays for what was refused");
    }
    // Each descriptor has a cost of its own.
    let answer = site.ask(Client::SECOND, &export);
    assert_eq!((answer.status, site.left_to("k-1")), (200, 2), "{answer:?}");
    // The other way round: now the key refuses, in an export as the first and in a search as the
    // second descriptor.
    assert_eq!((site.ask(Client::SECOND, &export).status, site.left_to("k-1")), (429, 2));
    for (status, left, left_to_search) in [(200, 1, 2), (200, 0, 1), (429, 0, 1), (429, 0, 1)] {
        let answer = site.ask(Client::SECOND, &keyed);
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!((site.left_to("k-1"), searches("127.0.0.3")), (left, left_to_search));
    }
    assert_eq!(site.ask(Client::SECOND, &SEARCH).status, 200, "what was not charged can be used");
    assert_eq!(site.left_to("k-2"), 12);
}

/// What an answer says is about the descriptor that is closest to refusing.
#[test]
fn numbers_are_those_of_all_descriptors() {
    let site = Site::open();
    let answer = site.ask(Client::FIRST, &Request { headers: &[("X-Api-Key", "k-1")], ..SEARCH });
    let policies = answer.header("ratelimit-policy").expect("a header");
    for policy in [r#""search-3/min";q=3;w=60"#, r#""key-100/min";q=100;w=60"#] {
        assert!(policies.contains(policy), "{answer:?}");
    }
}
