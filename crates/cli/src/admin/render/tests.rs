//! Texts of responses.

use serde_json::json;

use super::*;

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn spans_have_their_two_largest_units() {
    let rows = [
        (0, "0 s"),
        (1, "1 s"),
        (1_000, "1 s"),
        (1_001, "2 s"),
        (60_000, "1 min"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (7_199_000, "1 h 59 min"),
        (86_400_000, "1 d"),
        (90_000_000, "1 d 1 h"),
        (2 * 86_400_000 + 59_000, "2 d"),
    ];
    for (ms, expected) in rows {
        assert_eq!(span(ms), expected, "{ms}");
    }
}

#[test]
fn inspections_as_text() {
    let limit = |limit: &str, used: u64, left: u64, retry: Option<u64>, reset: u64| json!({ "limit": limit, "used": used, "remaining": left, "retry_after_ms": retry, "reset_after_ms": reset });
    let answer = json!({ "subjects": [
        { "rule": "login", "key": { "ip": "203.0.113.7" }, "mode": "enforced", "listed": null, "source": "store",
          "limits": [limit("5/min", 5, 0, Some(12_000), 60_000), limit("100/day", 5, 95, None, 86_400_000)] },
        { "rule": "all", "key": {}, "mode": "observed", "listed": null, "source": "store",
          "limits": [limit("9/s", 0, 9, None, 0)] },
        { "rule": "away", "key": { "ip": "203.0.113.7" }, "mode": "enforced", "listed": null, "source": "local",
          "limits": [{ "limit": "9/s", "used": null, "remaining": 3, "retry_after_ms": null, "reset_after_ms": 0 }] },
        { "rule": "jobs", "key": {}, "mode": "enforced", "listed": null, "source": "store",
          "limits": [{ "limit": "2 in flight for 30s", "used": 2, "remaining": 0, "retry_after_ms": null, "retry_after_at_most_ms": 9_000, "reset_after_ms": 0 }] },
        { "rule": "gone", "key": { "ip": "203.0.113.7" }, "mode": "enforced", "listed": null, "source": "assumed",
          "limits": [{ "limit": "9/s", "used": null, "remaining": null, "retry_after_ms": null, "reset_after_ms": null }] },
    ]});
    let expected = "\
login ip=203.0.113.7
  5/min    5 used, 0 left, next slot in 12 s, fully reset in 1 min
  100/day  5 used, 95 left, fully reset in 1 d
all (all requests) (observe mode)
  9/s  0 used, 9 left
away ip=203.0.113.7 (this node's share: the store is unavailable)
  9/s  3 left
jobs (all requests)
  2 in flight for 30s  2 used, 0 left, next slot within 9 s
gone ip=203.0.113.7 (usage unknown: the store is unavailable)
  9/s  unknown
";
    assert_eq!(plain(&inspection(&answer)), expected);
    assert_eq!(inspection(&json!({ "subjects": [], "message": "nobody" })), "nobody\n");
}

#[test]
fn changes_as_text() {
    let reset_ = json!({ "subjects": [{ "rule": "search", "key": { "api_key|ip": null }, "limits": ["3/s", "30/s"] }] });
    assert_eq!(plain(&reset(&reset_)), "reset search (no api_key|ip): 3/s, 30/s\n");
    let one = json!({ "id": "0a1b", "text": "rule login, all requests: deny", "reason": "", "active": true,
        "problem": null, "created_at_ms": 1_000, "expires_at_ms": 7_201_000 });
    assert_eq!(plain(&new_override(&one)), "added 0a1b: rule login, all requests: deny, expires in 2 h\n");
    assert_eq!(overrides(&json!({ "overrides": [] })), "no overrides\n");
    let past = plain(&overrides(&json!({ "overrides": [one] })));
    assert_eq!(past, "0a1b  rule login, all requests: deny, expires in 0 s\n");
    assert_eq!(plain(&removal(&json!({ "id": "0a1b" }))), "removed 0a1b\n");
    let changed = json!({ "changes": ["rule login: limits 5/min -> 9/min"], "at_next_start": ["store"] });
    let expected =
        "reloaded: 1 change\n  rule login: limits 5/min -> 9/min\n  store takes effect at the next start\n";
    assert_eq!(reload(&changed), expected);
    assert_eq!(plain(&ready(&json!({ "store": "available" }))), "ready, store available\n");
}
