//! Which rules are for a descriptor: those whose whole key it has.

use serde_json::json;

use super::{ask, statuses};
use crate::http::admin::Operator;
use crate::http::service::{BOTH, Kind, Service};

const RULES: &str = "
server: { admin: 127.0.0.1:0 }
rules:
  - { name: user, match: { domain: shop }, key: [user], limits: [1/min] }
  - { name: pair, match: { domain: shop, part: two }, key: [org, 'a|b'], limits: [9/min] }
  - { name: all, match: { part: all }, limits: [2/min] }
  - { name: address, match: { part: address }, key: [ip], limits: [9/min] }
";

/// Strangers share nothing: a descriptor without the entries of a key is not counted by that rule.
#[tokio::test]
async fn a_rule_is_for_descriptors_that_have_its_whole_key() {
    for kind in BOTH {
        let service = Service::start(kind, RULES).await;
        let mut client = service.client().await;
        let rows = [
            ("org=x", "OK"),
            ("org=x", "OK"),
            ("user= org=x", "OK"),
            ("user=alice", "OK 0"),
            ("user=alice", "OVER_LIMIT 0"),
            ("user=bob org=x", "OK 0"),
            // Of alternatives one suffices.
            ("part=two org=x a=1", "OK 8"),
            ("part=two org=x b=1", "OK 8"),
            ("part=two org=x", "OK"),
            ("part=two a=1 b=1", "OK"),
            // A rule without a key has all that it needs.
            ("part=all", "OK 1"),
            ("part=all user=carol", "OK 0"),
            ("part=all", "OVER_LIMIT 0"),
        ];
        for (descriptor, expected) in rows {
            assert_eq!(statuses(&ask(&mut client, &[descriptor]).await), expected, "{kind:?} {descriptor}");
        }
        let both = ask(&mut client, &["org=x", "user=dave"]).await;
        assert_eq!((both.status, statuses(&both)), (200, "OK, OK 0".to_owned()));
        // Over HTTP requests that lack the key count together.
        let attributes = json!({ "domain": "shop", "org": "x" });
        assert_eq!(client.statuses(2, attributes).await, [200, 429], "{kind:?}");
    }
}

#[tokio::test]
async fn what_a_rule_says_of_missing_entries_decides() {
    for (missing, expected) in
        [("shared", ["OK 0", "OVER_LIMIT 0"]), ("skip", ["OK", "OK"]), ("deny", ["OVER_LIMIT", "OVER_LIMIT"])]
    {
        let rules = format!("rules: [{{ name: user, key: [user], limits: [1/min], missing: {missing} }}]");
        let service = Service::start(Kind::Memory, &rules).await;
        let mut client = service.client().await;
        for expected in expected {
            assert_eq!(statuses(&ask(&mut client, &["org=x"]).await), expected, "{missing}");
        }
    }
}

#[tokio::test]
async fn skips_are_counted_by_rule() {
    let service = Service::start(Kind::Memory, RULES).await;
    let mut client = service.client().await;
    for descriptors in [&["org=x", "part=two org=x"][..], &["user=alice"], &["user=alice", "org=x"]] {
        ask(&mut client, descriptors).await;
    }
    // A call is decided again where a value cannot be judged, and counted once.
    let unfit = ask(&mut client, &["org=x", "part=address user=bob ip=nowhere"]).await;
    assert_eq!(statuses(&unfit), "OK, OVER_LIMIT");
    let page = Operator::new(&service).await.get("/metrics").await;
    let text = String::from_utf8(page.body).expect("text");
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("slidegate_skipped_descriptors_total")).collect();
    let line =
        |rule: &str, count: u64| format!("slidegate_skipped_descriptors_total{{rule=\"{rule}\"}} {count}");
    assert_eq!(lines, [line("user", 4), line("pair", 1)]);
}
