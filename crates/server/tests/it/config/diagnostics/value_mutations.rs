//! A good policy as values, and all small changes of it.

use serde_json::{Value, json};

/// The same file as values. JSON is YAML, too.
pub(crate) fn everything() -> Value {
    json!({
        "version": 1,
        "server": {
            "http": "[::1]:9000",
            "tls": { "certificate": "server.pem", "key": "server.key", "client_ca": "clients.pem" },
            "grpc": { "listen": "[::]:8081", "tls": { "certificate": "g.pem", "key": "g.key" } },
            "resp": "0.0.0.0:6380",
            "admin": { "listen": "0.0.0.0:8090", "token": "another token of the admin", "tls": { "certificate": "a.pem", "key": "a.key" } },
            "connections": {
                "max": 20000,
                "max_per_address": 100,
                "head_timeout": "3s",
                "body_timeout": "4s",
                "write_timeout": "5s",
                "idle_timeout": "1min",
                "max_requests": 1000,
                "max_head": "16KiB",
                "max_body": "1MiB"
            },
            "shutdown_delay": "5s",
            "shutdown_timeout": "20s",
            "trusted_proxies": ["10.0.0.0/8", "192.0.2.7", "fd00::1"],
            "attributes": { "org": "X-Org" },
            "headers": "x-ratelimit",
            "reset": "epoch",
            "retry_jitter": "12.5%",
            "token": "a token for checks",
            "permit_secret": "more than sixteen characters",
            "ad_hoc_limits": false,
            "max_wait": "5s",
            "max_waiting": 5000
        },
        "store": {
            "kind": "redis",
            "max_memory": "1GiB",
            "sentinel": { "nodes": ["redis://s:26379"], "name": "main" },
            "timeout": "20ms",
            "prefix": "gate:",
            "deny_cache": 0,
            "instances": 3
        },
        "paths": { "ignore_case": true },
        "ipv6_prefix": 56,
        "rules": [
            {
                "name": "search",
                "match": { "method": ["GET", "HEAD"], "path": "/v1/search/{*rest}", "tier": 1, "agent": { "prefix": ["curl"] } },
                "key": ["org", "api_key|ip"],
                "limits": [
                    "10/s",
                    { "quota": 600, "window": "1m", "algorithm": "counter" },
                    { "quota": "1_000_000", "window": "1h", "algorithm": "gcra", "burst": 50, "name": "steady" },
                    { "quota": 500, "window": "1min", "resolution": "10ms", "name": "fine" }
                ],
                "missing": "deny",
                "overrides": [{ "when": { "org": "acme" }, "limits": ["50/s"] }],
                "tiers": { "enterprise": ["200/s"] },
                "allow": [{ "ip": "10.0.0.0/8" }],
                "deny": [{ "user": "mallory" }],
                "mode": { "enforce": "25%" },
                "on_store_error": "allow",
                "refundable": false
            },
            {
                "name": "uploads",
                "limits": [{ "in_flight": 20, "hold": "30s", "name": "slots" }],
                "mode": { "enforce_for": [{ "org": "acme" }] }
            }
        ]
    })
}

/// Every value in it, by its path.
pub(crate) fn pointers(value: &Value, path: &str) -> Vec<String> {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    let mut all = vec![path.to_owned()];
    all.extend(inside.into_iter().flat_map(|(name, value)| pointers(value, &format!("{path}/{name}"))));
    all
}

/// Every value replaced by something else, every field left out, and a field too many in every
/// mapping.
pub(crate) fn changed() -> Vec<(String, Value)> {
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(7),
        json!(1e30),
        json!(""),
        json!("x"),
        json!("a b"),
        json!("5/min"),
        json!("30s"),
        json!("50%"),
        json!([]),
        json!(["x"]),
        json!([null]),
        json!([[]]),
        json!({}),
        json!({ "x": 1 }),
    ];
    let good = everything();
    let mut all = Vec::new();
    for path in pointers(&good, "") {
        for other in &others {
            let mut value = good.clone();
            *value.pointer_mut(&path).expect("it is there") = other.clone();
            all.push((format!("{path} = {other}"), value));
        }
        let mut value = good.clone();
        if let Some(Value::Object(fields)) = value.pointer_mut(&path) {
            fields.insert("zebra".to_owned(), json!("x"));
            all.push((format!("{path} with a field too many"), value));
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or_default();
        let mut value = good.clone();
        if let Some(Value::Object(fields)) = value.pointer_mut(parent) {
            fields.remove(name);
            all.push((format!("{path} left out"), value));
        }
    }
    all
}
