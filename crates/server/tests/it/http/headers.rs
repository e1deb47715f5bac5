//! The headers of an answer, read back by a parser of structured fields.

use serde_json::json;
use sfv::{BareItem, List, ListEntry, Parser};

use crate::http::client::{Client, Response};
use crate::http::service::{BOTH, Kind, Service};

/// Name and parameters of every item.
fn parse(value: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let list: List = Parser::new(value).parse().unwrap_or_else(|error| panic!("{value:?}: {error}"));
    let read = |entry: &ListEntry| {
        let ListEntry::Item(item) = entry else { panic!("{value:?} has an inner list") };
        let BareItem::String(name) = &item.bare_item else { panic!("{value:?} has no strings") };
        let parameters = item.params.iter().map(|(key, value)| {
            let BareItem::Integer(number) = value else { panic!("{key} is not an integer") };
            (key.as_str().to_owned(), i64::from(*number))
        });
        (name.as_str().to_owned(), parameters.collect())
    };
    list.iter().map(read).collect()
}

fn item(name: &str, parameters: &[(&str, i64)]) -> (String, Vec<(String, i64)>) {
    (name.to_owned(), parameters.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect())
}

async fn check(client: &mut Client, cost: u64) -> Response {
    client.post("/v1/check", &json!({ "attributes": { "user": "alice" }, "cost": cost })).await
}

#[tokio::test]
async fn structured_fields() {
    for kind in BOTH {
        let service =
            Service::start(kind, "rules: [{ name: api, key: [user], limits: [3/s, 50/90s] }]").await;
        let mut client = service.client().await;
        let admitted = check(&mut client, 2).await;
        let policy = parse(admitted.header("ratelimit-policy").expect("a header"));
        let expected = [item("api-3/s", &[("q", 3), ("w", 1)]), item("api-50/90s", &[("q", 50), ("w", 90)])];
        assert_eq!(policy, expected);
        let left = parse(admitted.header("ratelimit").expect("a header"));
        assert_eq!(
            left,
            [item("api-3/s", &[("r", 1), ("t", 1)]), item("api-50/90s", &[("r", 48), ("t", 90)])]
        );
        assert_eq!(admitted.header("retry-after"), None);
        let denied = check(&mut client, 2).await;
        assert_eq!((denied.status, denied.header("retry-after")), (429, Some("1")));
        let left = parse(denied.header("ratelimit").expect("a header"));
        assert_eq!(left[0], item("api-3/s", &[("r", 1), ("t", 1)]));
        let never = check(&mut client, 4).await;
        assert_eq!((never.status, never.header("retry-after")), (429, None));
        let left = parse(never.header("ratelimit").expect("a header"));
        assert_eq!(left, [item("api-3/s", &[("r", 1)]), item("api-50/90s", &[("r", 48)])], "no time helps");
    }
}

#[tokio::test]
async fn other_styles() {
    // 3 seconds into a minute of Unix time.
    let reset_epoch = (crate::http::service::START_MS / 1_000 + 3_600).to_string();
    let rows = [
        ("legacy", ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"], "3600"),
        ("x-ratelimit", ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"], "3600"),
        (
            "x-ratelimit, reset: epoch",
            ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
            &reset_epoch,
        ),
    ];
    for (style, names, reset) in rows {
        let policy = format!(
            "server: {{ headers: {style} }}\nrules: [{{ name: api, key: [user], limits: [5/min, 100/h] }}]"
        );
        let service = Service::start(Kind::Memory, &policy).await;
        let answer = check(&mut service.client().await, 2).await;
        let values = names.map(|name| answer.header(name));
        assert_eq!(values, [Some("5"), Some("3"), Some(reset)], "{style}");
        assert_eq!(answer.header("ratelimit"), None);
    }
}

#[tokio::test]
async fn none_but_when_to_come_again() {
    let policy = "server: { headers: none }\nrules: [{ name: api, key: [user], limits: [5/100ms] }]";
    let service = Service::start(Kind::Memory, policy).await;
    let mut client = service.client().await;
    let admitted = check(&mut client, 5).await;
    assert!(!admitted.headers.iter().any(|(name, _)| name.contains("ratelimit")));
    // A tenth of a second is not none at all.
    let denied = check(&mut client, 5).await;
    assert_eq!((denied.at("/retry_after_ms"), denied.header("retry-after")), (100.into(), Some("1")));
}

#[tokio::test]
async fn jitter_is_later_only() {
    let policy = "server: { retry_jitter: 50% }\nrules: [{ name: api, key: [user], limits: [1/min] }]";
    let service = Service::start(Kind::Memory, policy).await;
    let mut client = service.client().await;
    assert_eq!(check(&mut client, 1).await.status, 200);
    let mut waits = std::collections::HashSet::new();
    for _ in 0..50 {
        let denied = check(&mut client, 1).await;
        let seconds: u64 = denied.header("retry-after").expect("a wait").parse().expect("seconds");
        assert!((60..=90).contains(&seconds), "{seconds}");
        assert_eq!(denied.at("/retry_after_ms"), 60_000);
        waits.insert(seconds);
    }
    assert!(waits.len() > 5, "{waits:?}");
}
