//! What answers say in HTTP headers, style by style.

use slidegate::headers::{Headers, Reset, Style};
use slidegate::{Answer, CheckRequest};

use crate::gates::{START_MS, ask, check, gate, request};

fn headers(answer: &Answer, style: Style) -> String {
    written(answer, Headers { style, retry_jitter: 0 }, 0)
}

/// All headers of an answer, one a line.
fn written(answer: &Answer, headers: Headers, random: u64) -> String {
    let mut lines = Vec::new();
    headers.write(answer, || random, |name, value| lines.push(format!("{name}: {value}")));
    lines.join("\n")
}

const RULES: &str = "
  - { name: search, key: [user], limits: [2/s, { quota: 3, window: 1m, algorithm: counter }] }
";

#[tokio::test]
async fn the_draft_names_every_limit() {
    let (gate, clock) = gate(RULES);
    let first = check(&gate, "user=alice").await;
    assert_eq!(
        headers(&first, Style::Draft),
        "ratelimit-policy: \"search-2/s\";q=2;w=1, \"search-3/min-counter\";q=3;w=60\n\
         ratelimit: \"search-2/s\";r=1;t=1, \"search-3/min-counter\";r=2;t=80"
    );
    check(&gate, "user=alice").await;
    // Of the limit that would still admit only what resets before the client may come again is
    // told.
    clock.advance_ms(1);
    assert_eq!(
        headers(&check(&gate, "user=alice").await, Style::Draft),
        "ratelimit-policy: \"search-2/s\";q=2;w=1, \"search-3/min-counter\";q=3;w=60\n\
         ratelimit: \"search-2/s\";r=0;t=1, \"search-3/min-counter\";r=1\n\
         retry-after: 1"
    );
}

#[tokio::test]
async fn the_older_styles_tell_the_numbers_of_the_request() {
    let (gate, clock) = gate("  - { name: search, key: [user], limits: [2/s, 3/min] }\n");
    let first = check(&gate, "user=alice").await;
    let of = |limit, remaining, reset| {
        format!("ratelimit-limit: {limit}\nratelimit-remaining: {remaining}\nratelimit-reset: {reset}")
    };
    // What remains is the least of all limits, and the reset the longest.
    assert_eq!(headers(&first, Style::Legacy), of(2, 1, 60));
    check(&gate, "user=alice").await;
    clock.advance_ms(500);
    assert_eq!(headers(&check(&gate, "user=alice").await, Style::Legacy), of(2, 0, 60) + "\nretry-after: 1");
    clock.advance_ms(1_000);
    assert_eq!(headers(&check(&gate, "user=alice").await, Style::Legacy), of(3, 0, 60));
    let refused = check(&gate, "user=alice").await;
    // The wait is 58.5 seconds, rounded up; the newest of the three leaves in 60.
    assert_eq!(headers(&refused, Style::Legacy), of(3, 0, 60) + "\nretry-after: 59");
    let x = Style::XRateLimit(Reset::Delta);
    let as_x = |text: String| text.replace("ratelimit-", "x-ratelimit-");
    assert_eq!(headers(&refused, x), as_x(of(3, 0, 60)) + "\nretry-after: 59");
    let epoch = START_MS / 1_000 + 62;
    assert_eq!(
        headers(&refused, Style::XRateLimit(Reset::Epoch)),
        as_x(of(3, 0, epoch)) + "\nretry-after: 59"
    );
    assert_eq!(headers(&refused, Style::None), "retry-after: 59");
}

#[tokio::test]
async fn a_cost_that_never_fits_gets_no_retry_after() {
    let (gate, _) = gate("  - { name: search, key: [user], limits: [2/s] }\n");
    let never = ask(&gate, &CheckRequest::from(request("user=alice").cost(3))).await;
    assert_eq!(
        headers(&never, Style::Draft),
        "ratelimit-policy: \"search-2/s\";q=2;w=1\nratelimit: \"search-2/s\";r=2"
    );
    assert_eq!(headers(&never, Style::None), "");
}

/// Nor is the time told at which another limit is as if never used: it would not help.
#[tokio::test]
async fn a_cost_that_never_fits_has_no_times() {
    let (gate, _) = gate("  - { name: search, key: [user], limits: [2/s, 9/min] }\n");
    check(&gate, "user=alice").await;
    let never = ask(&gate, &CheckRequest::from(request("user=alice").cost(3))).await;
    let text = headers(&never, Style::Draft);
    assert_eq!(text.lines().nth(1), Some("ratelimit: \"search-2/s\";r=1, \"search-9/min\";r=8"));
}

/// The longest wait has the quota of another limit beside it, and what remains of that.
#[tokio::test]
async fn the_least_remaining_is_in_the_headers_whichever_limit_denies() {
    let (gate, _) = gate("  - { name: search, key: [user], limits: [5/min, 12/10min] }\n");
    ask(&gate, &CheckRequest::from(request("user=alice").cost(5))).await;
    for (cost, retry) in [(8, ""), (5, "\nretry-after: 60")] {
        let refused = ask(&gate, &CheckRequest::from(request("user=alice").cost(cost))).await;
        let expected = "ratelimit-limit: 5\nratelimit-remaining: 0\nratelimit-reset: 600";
        assert_eq!(headers(&refused, Style::Legacy), format!("{expected}{retry}"), "{cost}");
    }
}

#[tokio::test]
async fn places_in_flight_promise_no_time() {
    let (gate, _) = gate("  - { name: slots, key: [user], limits: [{ in_flight: 1, hold: 30s }] }\n");
    check(&gate, "user=alice").await;
    assert_eq!(
        headers(&check(&gate, "user=alice").await, Style::Draft),
        "ratelimit-policy: \"slots-1-in-flight-for-30s\";q=1;qu=\"concurrent-requests\"\n\
         ratelimit: \"slots-1-in-flight-for-30s\";r=0"
    );
}

#[tokio::test]
async fn windows_below_a_second_and_quotas_beyond_fifteen_digits_are_clamped() {
    let (gate, _) = gate("
  - { name: fast, key: [user], limits: [1/100ms] }
  - { name: vast, key: [user], limits: [{ quota: 2_000_000_000_000_000, window: 1500ms, algorithm: counter }] }
");
    let answer = check(&gate, "user=alice").await;
    let text = headers(&answer, Style::Draft);
    let policy = "ratelimit-policy: \"fast-1/100ms\";q=1, \"vast-2000000000000000/1500ms-counter\";q=999999999999999;w=2";
    assert_eq!(text.lines().next(), Some(policy));
    // A refusal for 100 ms is a second in a header, never 0.
    assert!(headers(&check(&gate, "user=alice").await, Style::Draft).ends_with("\nretry-after: 1"));
}

#[tokio::test]
async fn no_rule_no_headers() {
    let (gate, _) = gate("  - { name: login, match: { path: /login }, limits: [1/min] }\n");
    let answer = check(&gate, "path=/other").await;
    for style in [Style::Draft, Style::Legacy, Style::XRateLimit(Reset::Epoch), Style::None] {
        assert_eq!(headers(&answer, style), "");
    }
}

#[tokio::test]
async fn those_who_were_refused_together_come_back_apart_and_never_too_early() {
    let (gate, _) = gate("  - { name: login, key: [user], limits: [1/min] }\n");
    check(&gate, "user=alice").await;
    let refused = check(&gate, "user=alice").await;
    let spread = Headers { style: Style::None, retry_jitter: 1_000 };
    for (random, expected) in [(0, 60), (1, 61), (1_000, 61), (6_000, 66), (6_001, 60), (u64::MAX, 62)] {
        let value = format!("retry-after: {expected}");
        assert_eq!(written(&refused, spread, random), value, "{random}");
    }
}

/// Gateways have little room for headers: of many limits those are listed that refuse, and those
/// with least left.
#[tokio::test]
async fn many_limits_fit_a_header() {
    let name = |number: u64| format!("{}{number:02}", "n".repeat(62));
    let limits: Vec<String> = (0..32)
        .map(|number| format!("{{ quota: {}, window: 1h, name: {} }}", 40 - number, name(number)))
        .collect();
    let (gate, _) = gate(&format!("  - {{ name: {}, limits: [{}] }}\n", "r".repeat(64), limits.join(", ")));
    let fields = |answer: &Answer| -> Vec<String> {
        headers(answer, Style::Draft)
            .lines()
            .filter(|line| line.starts_with("ratelimit"))
            .map(str::to_owned)
            .collect()
    };
    let listed = |field: &str| -> Vec<u64> {
        (0..32).filter(|number| field.contains(&format!("{}\"", name(*number)))).collect()
    };
    // The last ones have least, and the order is that of the file.
    for answer in [check(&gate, "").await, ask(&gate, &CheckRequest::from(request("").cost(12))).await] {
        for field in fields(&answer) {
            assert!(field.len() <= "ratelimit-policy: ".len() + 1_024, "{} bytes", field.len());
            assert_eq!(listed(&field), [27, 28, 29, 30, 31], "{field}");
        }
    }
}
