//! Runs `vectors/advice.jsonl`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use slidegate_client::{Advice, Exchange, RetrySettings, advice};
use slidegate_testkit::vectors::{list, number, text};

#[test]
fn advice_is_that_of_the_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/advice.jsonl");
    let lines = fs::read_to_string(path).expect("a file of vectors");
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let vector: Value = serde_json::from_str(line).expect("a line is a JSON object");
        let answer = answer(&vector);
        if answer != vector["expect"] {
            wrong.push(format!("{}: {answer}, expected {}", vector["name"], vector["expect"]));
        }
        assert!(names.insert(text(&vector["name"]).to_owned()), "{} occurs twice", vector["name"]);
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(names.len() >= 205, "only {} vectors are left", names.len());
}

fn answer(vector: &Value) -> Value {
    let mut headers = HeaderMap::new();
    for header in list(&vector["headers"]) {
        let name = HeaderName::from_bytes(text(&header[0]).as_bytes()).expect("a name");
        headers.append(name, HeaderValue::from_bytes(text(&header[1]).as_bytes()).expect("a value"));
    }
    let exchange = Exchange {
        method: &text(&vector["method"]).parse::<Method>().expect("a method"),
        is_replayable: vector["replayable"].as_bool().expect("a boolean"),
        status: StatusCode::from_u16(number(&vector["status"]) as u16).expect("a status"),
        headers: &headers,
        attempt: number(&vector["attempt"]) as u32,
        now_ms: number(&vector["now_ms"]),
    };
    let default = RetrySettings::default();
    let settings = RetrySettings {
        max_wait_ms: vector["max_wait_ms"].as_u64().unwrap_or(default.max_wait_ms),
        max_attempts: vector["max_attempts"].as_u64().map_or(default.max_attempts, |most| most as u32),
    };
    match advice(&exchange, &settings) {
        Advice::Wait(wait) => json!({"delay_ms": wait.delay_ms, "jitter_ms": wait.jitter_ms}),
        Advice::Stop(stop) => json!({"stop": stop.as_str()}),
    }
}
