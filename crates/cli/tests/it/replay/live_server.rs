//! The verdicts of a replay against those of a live server that gets the same requests at the same
//! times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use slidegate::{ManualClock, Memory};
use slidegate_server::{Backend, Config, Listeners, Runtime};
use slidegate_testkit::cases::Rng;
use slidegate_testkit::program::{HttpReply, HttpRequest, file, path, run};
use tokio::sync::oneshot;

const POLICY: &str = "
version: 1
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [3/10s] }
  - { name: search, match: { path: \"/v1/{*rest}\" }, key: [ip], limits: [5/s, { quota: 40, window: 60s, algorithm: counter }] }
  - { name: jobs, match: { path: /v1/jobs }, key: [ip], limits: [{ in_flight: 2, hold: 5s }] }
  - { name: all, limits: [{ quota: 30, window: 2s, algorithm: gcra, burst: 12 }] }
  - { name: trial, key: [ip], limits: [4/s], mode: observe }
  - { name: bots, deny: [{ ip: 198.51.100.9 }], limits: [1000/s] }
";
const LOGS: u64 = 20;
const LINES: u64 = 150;

/// Request of a log.
struct LoggedLine {
    start_ms: u64,
    duration_ms: u64,
    attributes: Value,
}

#[test]
fn verdicts_are_those_of_a_live_server() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for seed in 0..LOGS {
        let lines = lines(&Rng::new(seed));
        let verdicts = replayed(&lines);
        assert_eq!(verdicts.len(), lines.len());
        let clock = ManualClock::new(lines[0].start_ms);
        let config = Config::parse("policy.yaml", POLICY).expect("a policy");
        let app =
            Runtime::over(config, Backend::Memory(Memory::default())).expect("settings").clock(clock.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let listeners = Listeners { http: listener, grpc: None, resp: None, admin: None };
        let served = runtime
            .spawn(slidegate_server::run(Arc::new(app), listeners, async move { drop(stopped.await) }));
        compare(address, &clock, &lines, &verdicts);
        drop(stop);
        runtime.block_on(served).expect("the server ends");
    }
}

/// Requests at times of different density, in the order of their starts.
fn lines(draw: &Rng) -> Vec<LoggedLine> {
    let mut start_ms = 1_763_199_960_000 + draw.below(60_000);
    let line = |_| {
        start_ms += draw.pick(&[0, 1, 20, 90, 400, 2_500]);
        let path = draw.pick(&["/login", "/v1/search", "/v1/jobs", "/v1/jobs", "/other"]);
        let ip = if draw.one_in(9) { "198.51.100.9" } else { draw.pick(&["203.0.113.7", "203.0.113.8"]) };
        let attributes = json!({ "method": "POST", "path": path, "ip": ip });
        LoggedLine { start_ms, duration_ms: draw.pick(&[0, 30, 700, 9_000]), attributes }
    };
    (0..LINES).map(line).collect()
}

/// Verdicts of `slidegate replay`.
fn replayed(lines: &[LoggedLine]) -> Vec<Value> {
    let line = |line: &LoggedLine| {
        let mut object = line.attributes.clone();
        object["start_ms"] = line.start_ms.into();
        object["duration_ms"] = line.duration_ms.into();
        format!("{object}\n")
    };
    let log = file(&lines.iter().map(line).collect::<String>());
    let (policy, verdicts) = (file(POLICY), tempfile::NamedTempFile::new().expect("a file"));
    let ended = run(&["replay", path(&log), "--policy", path(&policy), "--verdicts", path(&verdicts)]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = std::fs::read_to_string(verdicts.path()).expect("verdicts");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Checks every request at its start, and releases its slots at its end.
fn compare(address: SocketAddr, clock: &ManualClock, lines: &[LoggedLine], verdicts: &[Value]) {
    let mut ends: BinaryHeap<Reverse<(u64, String)>> = BinaryHeap::new();
    for (line, verdict) in lines.iter().zip(verdicts) {
        while ends.peek().is_some_and(|Reverse((end_ms, _))| *end_ms <= line.start_ms) {
            let Some(Reverse((end_ms, permit))) = ends.pop() else { break };
            clock.set_ms(end_ms);
            HttpRequest::post("/v1/refund", &json!({ "permit": permit }).to_string()).send(address);
        }
        clock.set_ms(line.start_ms);
        let body = json!({ "attributes": line.attributes }).to_string();
        let reply = HttpRequest::post("/v1/check", &body).send(address);
        let answer = reply.json();
        if let Some(permit) = answer["permit"].as_str() {
            ends.push(Reverse((line.start_ms + line.duration_ms, permit.to_owned())));
        }
        assert_eq!(summary(&reply), expected(verdict), "{verdict} {answer}");
    }
}

/// Status, limits or rule that refuse, limits that would, remaining and wait.
type Numbers = (u16, Vec<Value>, Vec<Value>, Value, Value);

fn expected(verdict: &Value) -> Numbers {
    let status = match verdict["verdict"].as_str() {
        Some("allowed") => 200,
        Some("denied") => 429,
        Some("blocked") => 403,
        other => panic!("{other:?}"),
    };
    let list = |name: &str| verdict[name].as_array().expect("a list").clone();
    let number = |name: &str| verdict[name].clone();
    (status, list("refused_by"), list("would_refuse"), number("remaining"), number("retry_after_ms"))
}

fn summary(reply: &HttpReply) -> Numbers {
    let answer = reply.json();
    let refused_by = match reply.status {
        403 => vec![answer["rule"].clone()],
        429 => answer["violated-policies"].as_array().expect("a list").clone(),
        _ => Vec::new(),
    };
    let observed = answer["observed"].as_array().into_iter().flatten();
    let would_refuse =
        observed.filter(|limit| limit["outcome"] != "fits").map(|limit| limit["policy"].clone());
    let wait =
        [&answer["retry_after_ms"], &answer["retry_after_at_most_ms"]].into_iter().find(|wait| wait.is_u64());
    let wait = wait.cloned().unwrap_or(Value::Null);
    (reply.status, refused_by, would_refuse.collect(), answer["remaining"].clone(), wait)
}
