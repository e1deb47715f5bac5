//! What people see of answers.

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
        (86_400_000, "1 day"),
        (90_000_000, "1 day 1 h"),
        (2 * 86_400_000 + 59_000, "2 day"),
    ];
    for (ms, expected) in rows {
        assert_eq!(span(ms), expected, "{ms}");
    }
}

#[test]
fn a_look_in_words() {
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
  5/min    5 used, 0 left, again in 12 s, fresh in 1 min
  100/day  5 used, 95 left, fresh in 1 day
all for everybody (only watched)
  9/s  0 used, 9 left
away ip=203.0.113.7 (this node's share: the store does not answer)
  9/s  3 left
jobs for everybody
  2 in flight for 30s  2 used, 0 left, again within 9 s
gone ip=203.0.113.7 (not known: the store does not answer)
  9/s  not known
";
    assert_eq!(plain(&looked(&answer)), expected);
    assert_eq!(looked(&json!({ "subjects": [], "message": "nobody" })), "nobody\n");
}

#[test]
fn changes_in_words() {
    let reset_ = json!({ "subjects": [{ "rule": "search", "key": { "api_key|ip": null }, "limits": ["3/s", "30/s"] }] });
    assert_eq!(plain(&reset(&reset_)), "reset search without api_key|ip: 3/s, 30/s\n");
    let one = json!({ "id": "0a1b", "text": "rule login, all requests: deny", "reason": "", "active": true,
        "problem": null, "created_at_ms": 1_000, "expires_at_ms": 7_201_000 });
    assert_eq!(plain(&set(&one)), "set 0a1b: rule login, all requests: deny, for 2 h\n");
    assert_eq!(overrides(&json!({ "overrides": [] })), "there are no overrides\n");
    let past = plain(&overrides(&json!({ "overrides": [one] })));
    assert_eq!(past, "0a1b  rule login, all requests: deny, ends in 0 s\n");
    assert_eq!(plain(&removed(&json!({ "id": "0a1b" }))), "removed 0a1b\n");
    let changed = json!({ "changes": ["rule login: limits 5/min -> 9/min"], "at_next_start": ["store"] });
    let expected =
        "reloaded: 1 change\n  rule login: limits 5/min -> 9/min\n  store takes effect at the next start\n";
    assert_eq!(reloaded(&changed), expected);
    assert_eq!(plain(&ready(&json!({ "store": "available" }))), "ready, store available\n");
}
