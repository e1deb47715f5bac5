//! Headers of the live server, read by a parser that others wrote, and held against the numbers of
//! the body.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use slidegate_testkit::program::{HttpReply, ServerProcess, file, path, python};

/// A rule for every kind of header value, chosen by the attribute `case`.
const RULES: &str = r#"
rules:
  - {name: one, match: {case: one}, limits: [3/min]}
  - {name: several, match: {case: several}, limits: [2/s, 3/min, 10000/day]}
  - {name: short, match: {case: short}, limits: [2/500ms]}
  - {name: odd, match: {case: odd}, limits: [2/1500ms]}
  - {name: huge, match: {case: huge}, limits: [{quota: 2251799813685248, window: 1day, algorithm: counter}]}
  - {name: named, match: {case: named}, limits: [{quota: 3, window: 1h, name: hourly}]}
  - {name: flight, match: {case: flight}, limits: [{in_flight: 2, hold: 30s}]}
  - {name: both, match: {case: both}, limits: [{in_flight: 3, hold: 30s}, 2/min]}
  - {name: counter, match: {case: counter}, limits: [{quota: 3, window: 1h, algorithm: counter}]}
  - {name: fixed, match: {case: fixed}, limits: [{quota: 3, window: 1h, algorithm: fixed}]}
  - {name: gcra, match: {case: gcra}, limits: [{quota: 1, window: 1h, algorithm: gcra, burst: 3}]}
  - {name: first, match: {case: rules}, limits: [3/min]}
  - {name: second, match: {case: rules}, limits: [2/h]}
"#;
const CASES: [&str; 12] = [
    "one", "several", "short", "odd", "huge", "named", "flight", "both", "counter", "fixed", "gcra", "rules",
];

/// The largest integer of a structured field.
const MOST: u64 = 999_999_999_999_999;

struct Answered {
    case: &'static str,
    reply: HttpReply,
    body: Value,
}

impl Answered {
    fn limits(&self) -> &[Value] {
        self.body["limits"].as_array().expect("limits")
    }

    fn number(&self, header: &str) -> Option<u64> {
        let value = self.reply.header(header)?;
        Some(value.parse().unwrap_or_else(|_| panic!("{}: {header}: {value}", self.case)))
    }
}

/// Four requests in every case, and two that cannot fit or cost nothing: admitted ones and refused
/// ones.
fn answers(settings: &str) -> Vec<Answered> {
    let policy = file(&format!("version: 1\nserver: {settings}\n{RULES}"));
    let server = ServerProcess::start(&[path(&policy)]);
    let mut answers = Vec::new();
    for case in CASES {
        for cost in [1, 1, 1, 1, u64::MAX, 0] {
            let reply = server.check(&json!({"attributes": {"case": case}, "cost": cost}).to_string());
            let body = reply.json();
            assert_eq!(body["allowed"].as_bool(), Some(reply.status == 200), "{reply:?}");
            answers.push(Answered { case, reply, body });
        }
    }
    let denied = answers.iter().filter(|answer| answer.reply.status == 429).count();
    assert!(denied >= 2 * CASES.len(), "{denied} denials");
    answers
}

fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1_000)
}

fn in_flight(limit: &Value) -> bool {
    limit["limit"].as_str().expect("a text").contains("in flight")
}

/// When to come again, as the body has it. The longest wait of the limits that refuse, unless one
/// never admits.
fn wait_ms(answer: &Answered) -> Option<u64> {
    let wait_ms = answer.body["retry_after_ms"].as_u64();
    let refusing = answer.limits().iter().filter(|limit| limit["outcome"] == "retry");
    let longest = refusing.map(|limit| {
        limit["retry_after_ms"].as_u64().or(limit["retry_after_at_most_ms"].as_u64()).expect("a wait")
    });
    let longest = longest.max().filter(|_| !never(answer));
    assert_eq!(wait_ms.or(answer.body["retry_after_at_most_ms"].as_u64()), longest, "{}", answer.case);
    wait_ms
}

fn never(answer: &Answered) -> bool {
    answer.limits().iter().any(|limit| limit["outcome"] == "never")
}

/// The rules that hold for every style.
fn check_retry_after(answers: &[Answered]) {
    for answer in answers {
        let seconds_sent = answer.number("retry-after");
        assert_eq!(seconds_sent, wait_ms(answer).map(seconds), "{}: {:?}", answer.case, answer.reply);
        assert_ne!(seconds_sent, Some(0), "{}: nobody is told to come again at once", answer.case);
        assert!(seconds_sent.is_none() || answer.reply.status == 429);
    }
}

/// What another parser makes of header values.
fn parsed(values: &[&str]) -> Vec<Vec<Value>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/external/headers_parse.py");
    let mut child =
        python().arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(json!(values).to_string().as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the values cannot be parsed: {values:#?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_draft_says_what_the_body_says() {
    let answers = answers("{headers: draft}");
    check_retry_after(&answers);
    let of = |name: &'static str| {
        let value = move |answer: &Answered| answer.reply.header(name).expect(name).to_owned();
        answers.iter().map(value).collect::<Vec<_>>()
    };
    let (policies, states) = (of("ratelimit-policy"), of("ratelimit"));
    let all: Vec<&str> = policies.iter().chain(&states).map(String::as_str).collect();
    let mut items = parsed(&all);
    let states = items.split_off(answers.len());
    for ((answer, policies), states) in answers.iter().zip(items).zip(states) {
        let expected: Vec<Value> = answer.limits().iter().map(expected_policy).collect();
        assert_eq!(policies, expected, "{}", answer.case);
        let expected: Vec<Value> =
            answer.limits().iter().map(|limit| expected_state(answer, limit)).collect();
        assert_eq!(states, expected, "{}: {}", answer.case, answer.body);
    }
}

fn expected_policy(limit: &Value) -> Value {
    let window_ms = limit["window_ms"].as_u64().expect("a window");
    let mut parameters = json!({"q": limit["quota"].as_u64().expect("a quota").min(MOST)});
    if in_flight(limit) {
        parameters["qu"] = json!("concurrent-requests");
    } else if window_ms >= 1_000 {
        parameters["w"] = json!(seconds(window_ms));
    }
    json!({"name": limit["policy"], "parameters": parameters})
}

/// `t` is the wait where a limit refuses and the reset where it does not, and never later than
/// `Retry-After`. Where the cost can never fit there is none.
fn expected_state(answer: &Answered, limit: &Value) -> Value {
    let reset_ms = limit["reset_after_ms"].as_u64().expect("a reset");
    let delay_ms = match (limit["retry_after_ms"].as_u64(), wait_ms(answer)) {
        _ if never(answer) || limit["retry_after_at_most_ms"].is_u64() => None,
        (Some(ms), _) => Some(ms),
        (None, Some(until_ms)) if reset_ms > until_ms => None,
        (None, _) => Some(reset_ms),
    };
    let mut parameters = json!({"r": limit["remaining"].as_u64().expect("a number").min(MOST)});
    if let Some(ms) = delay_ms {
        parameters["t"] = json!(seconds(ms));
    }
    json!({"name": limit["policy"], "parameters": parameters})
}

#[test]
fn legacy_resets_are_seconds_from_now() {
    let answers = answers("{headers: legacy}");
    check_retry_after(&answers);
    answers.iter().for_each(|answer| check_numbers(answer, "ratelimit-", 0));
}

#[test]
fn x_ratelimit_is_the_same_under_other_names() {
    let answers = answers("{headers: x-ratelimit}");
    check_retry_after(&answers);
    answers.iter().for_each(|answer| check_numbers(answer, "x-ratelimit-", 0));
}

#[test]
fn x_ratelimit_can_tell_the_time() {
    let answers = answers("{headers: x-ratelimit, reset: epoch}");
    check_retry_after(&answers);
    for answer in &answers {
        check_numbers(answer, "x-ratelimit-", answer.body["decided_at_ms"].as_u64().expect("a time"));
    }
}

/// The numbers of the body, with the quota of the limit that has the least remaining, the first of
/// several. Places in flight are told of only where none is free.
fn check_numbers(answer: &Answered, prefix: &str, from_ms: u64) {
    let remaining = |limit: &&Value| limit["remaining"].as_u64().expect("a number");
    let bounding = answer.limits().iter().filter(|limit| !in_flight(limit) || remaining(limit) == 0);
    let tightest = bounding.min_by_key(remaining);
    let quota = tightest.and_then(|limit| limit["quota"].as_u64());
    assert_eq!(answer.body["remaining"].as_u64(), tightest.map(|limit| remaining(&limit)), "{}", answer.case);
    let reset_ms = answer.body["reset_after_ms"].as_u64().expect("a time");
    let longest = answer.limits().iter().map(|limit| limit["reset_after_ms"].as_u64()).max();
    assert_eq!(Some(Some(reset_ms)), longest, "{}", answer.case);
    let numbers = ["limit", "remaining", "reset"].map(|name| answer.number(&format!("{prefix}{name}")));
    let reset = quota.map(|_| seconds(from_ms + reset_ms));
    let expected = [quota, answer.body["remaining"].as_u64(), reset];
    assert_eq!(numbers, expected.map(|number| number.map(|number| number.min(MOST))), "{}", answer.case);
}

#[test]
fn without_a_style_there_is_retry_after_only() {
    let answers = answers("{headers: none}");
    check_retry_after(&answers);
    for answer in &answers {
        let names = answer.reply.headers().iter().map(|(name, _)| name);
        let found: Vec<_> = names.filter(|name| name.contains("ratelimit")).collect();
        assert!(found.is_empty(), "{}: {found:?}", answer.case);
    }
}
