//! Responses of a real axum server in every style of headers, and what a client reads in them.
//!
//! `SLIDEGATE_RECORDING` names a file to which they are written, with lines like those of
//! `vectors/advice.jsonl`: the tests of the clients in TypeScript and Python read it too.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, Response};
use axum::routing::get;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use slidegate::headers::{Headers, Reset, Style};
use slidegate::tower::RateLimitLayer;
use slidegate::{Clock, Gate, ManualClock, Memory, SyncStore};
use slidegate_client::{Advice, Exchange, RetrySettings, advice};

use super::failures::nowhere;
use crate::gates::policy;

/// Wednesday, 18 November 2026, less than a second after 15:00:00.
const START_MS: u64 = 1_795_014_000_400;
/// Time between two requests: waits are no whole seconds.
const STEP_MS: u64 = 150;

const STYLES: [(&str, Style); 5] = [
    ("draft", Style::Draft),
    ("legacy", Style::Legacy),
    ("x-ratelimit", Style::XRateLimit(Reset::Delta)),
    ("x-ratelimit-epoch", Style::XRateLimit(Reset::Epoch)),
    ("none", Style::None),
];

/// Requests to a server, all alike, and the statuses of their responses.
struct Scenario {
    name: &'static str,
    rules: &'static str,
    headers: &'static [(&'static str, &'static str)],
    statuses: &'static [u16],
}

const SCENARIOS: [Scenario; 8] = [
    Scenario {
        name: "one limit",
        rules: "  - { name: api, limits: [2/min] }\n",
        headers: &[],
        statuses: &[200, 200, 429],
    },
    Scenario {
        name: "two limits that refuse, and one that does not",
        rules: "  - { name: burst, limits: [2/10s, 9/min] }\n  - { name: api, limits: [2/30s] }\n",
        headers: &[],
        statuses: &[200, 200, 429],
    },
    Scenario {
        name: "a counter",
        rules: "  - { name: api, limits: [{ quota: 3, window: 20s, algorithm: counter }] }\n",
        headers: &[],
        statuses: &[200, 200, 200, 429],
    },
    Scenario {
        name: "a bucket",
        rules: "  - { name: api, limits: [{ quota: 6, window: 1min, algorithm: gcra, burst: 2 }] }\n",
        headers: &[],
        statuses: &[200, 200, 429],
    },
    Scenario {
        name: "a long wait",
        rules: "  - { name: api, limits: [1/h] }\n",
        headers: &[],
        statuses: &[200, 429],
    },
    Scenario {
        name: "a cost that never fits",
        rules: "  - { name: api, limits: [2/min] }\n",
        headers: &[("x-cost", "xxx")],
        statuses: &[429],
    },
    Scenario {
        name: "a deny list",
        rules: "  - { name: api, limits: [2/min], deny: [{ user: mallory }] }\n",
        headers: &[("x-user", "mallory")],
        statuses: &[403],
    },
    Scenario {
        name: "two values of a header",
        rules: "  - { name: api, limits: [2/min] }\n",
        headers: &[("x-user", "a"), ("x-user", "b")],
        statuses: &[400],
    },
];

#[tokio::test]
async fn every_style_of_a_server_is_read_as_it_is_meant() {
    let mut recording = Recording::default();
    for (style_name, style) in STYLES {
        for scenario in &SCENARIOS {
            // Proxies drop `Retry-After` at times. Then the other headers have to do.
            for (variant, is_dropped) in [("as sent", false), ("without retry-after", true)] {
                let name = format!("{style_name}, {}, {variant}", scenario.name);
                recording.run(&name, scenario, style, is_dropped).await;
            }
        }
        recording.run_without_store(style_name, style).await;
    }
    recording.finish();
}

/// Responses, with what the client reads in them.
#[derive(Default)]
struct Recording {
    lines: Vec<Value>,
}

impl Recording {
    async fn run(&mut self, name: &str, scenario: &Scenario, style: Style, is_dropped: bool) {
        let clock = ManualClock::new(START_MS);
        let gate = Gate::new(policy(scenario.rules), Memory::default()).clock(clock.clone());
        let server = Server::start(layer(gate, style)).await;
        for (index, status) in scenario.statuses.iter().enumerate() {
            clock.advance_ms(STEP_MS);
            let mut response = server.get(scenario.headers).await;
            assert_eq!(response.status(), *status, "{name}");
            if is_dropped {
                response.headers_mut().remove("retry-after");
            }
            let (expected, wait_ms) =
                self.record(&format!("{name}, request {index}"), response, clock.now_ms()).await;
            let Some(wait_ms) = wait_ms else { continue };
            let Some(delay_ms) = expected["delay_ms"].as_u64() else {
                assert_eq!(expected["stop"], "wait_too_long", "{name}");
                continue;
            };
            if is_dropped && style == Style::None {
                assert_eq!(delay_ms, 0, "{name}");
                continue;
            }
            // A client that waits gets in, and waits for less than a second more than it has to.
            assert!(delay_ms >= wait_ms, "{name}: {delay_ms} ms, not {wait_ms} ms");
            let is_exact = !is_dropped || style == Style::Draft;
            assert!(!is_exact || delay_ms - wait_ms < 1_000, "{name}: {delay_ms} ms, not {wait_ms} ms");
            clock.advance_ms(delay_ms);
            assert_eq!(server.get(scenario.headers).await.status(), 200, "{name}");
        }
    }

    /// A server whose store is away.
    async fn run_without_store(&mut self, style_name: &str, style: Style) {
        let gate = Gate::new(policy(SCENARIOS[0].rules), nowhere()).clock(ManualClock::new(START_MS));
        let response = Server::start(layer(gate, style)).await.get(&[]).await;
        assert_eq!(response.status(), 503);
        let name = format!("{style_name}, no store");
        let (expected, _) = self.record(&name, response, START_MS).await;
        assert_eq!(expected, json!({"stop": "no_retry_after"}));
    }

    /// Adds a response. The client's answer, and the exact wait of the server, if there is one.
    async fn record(&mut self, name: &str, response: Response<Body>, now_ms: u64) -> (Value, Option<u64>) {
        let (parts, body) = response.into_parts();
        let exchange = Exchange {
            method: &Method::GET,
            is_replayable: true,
            status: parts.status,
            headers: &parts.headers,
            attempt: 0,
            now_ms,
        };
        let expected = match advice(&exchange, &RetrySettings::default()) {
            Advice::Wait(wait) => json!({"delay_ms": wait.delay_ms, "jitter_ms": wait.jitter_ms}),
            Advice::Stop(stop) => json!({"stop": stop.as_str()}),
        };
        let headers = parts.headers.iter().filter(|(name, _)| *name != "date");
        let headers = headers.map(|(name, value)| json!([name.as_str(), value.to_str().expect("text")]));
        self.lines.push(json!({
            "name": name,
            "status": parts.status.as_u16(),
            "headers": headers.collect::<Vec<_>>(),
            "method": "GET",
            "replayable": true,
            "attempt": 0,
            "now_ms": now_ms,
            "expect": expected,
        }));
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
        (expected, problem["retry_after_ms"].as_u64())
    }

    fn finish(self) {
        let responses: usize = SCENARIOS.iter().map(|scenario| 2 * scenario.statuses.len()).sum();
        assert_eq!(self.lines.len(), STYLES.len() * (responses + 1));
        for (style, _) in STYLES {
            let delays = self
                .lines
                .iter()
                .filter(|line| line["name"].as_str().is_some_and(|name| name.starts_with(style)));
            let mut delays: Vec<_> = delays.filter_map(|line| line["expect"]["delay_ms"].as_u64()).collect();
            delays.sort_unstable();
            delays.dedup();
            assert!(delays.len() >= 4, "{style}: {delays:?}");
        }
        if let Some(path) = std::env::var_os("SLIDEGATE_RECORDING") {
            let lines: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
            std::fs::write(path, lines).expect("a file");
        }
    }
}

fn layer<S: SyncStore>(gate: Gate<S, ManualClock>, style: Style) -> RateLimitLayer<S, ManualClock> {
    let layer = RateLimitLayer::new(Arc::new(gate)).attribute("user", "x-user");
    let layer = layer.cost_with(|parts| parts.headers.get("x-cost").map_or(1, |cost| cost.len() as u64));
    layer.headers(Headers { style, ..Headers::default() })
}

/// axum server on a free port, and a client for it.
struct Server {
    address: SocketAddr,
    client: Client<HttpConnector, Body>,
}

impl Server {
    async fn start<S: SyncStore + 'static>(layer: RateLimitLayer<S, ManualClock>) -> Self {
        let router = Router::new().route("/", get(|| async { "hello" })).layer(layer);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, client: Client::builder(TokioExecutor::new()).build_http() }
    }

    async fn get(&self, headers: &[(&str, &str)]) -> Response<Body> {
        let request = Request::get(format!("http://{}/", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = self.client.request(request.body(Body::empty()).expect("a request")).await;
        response.expect("a response").map(Body::new)
    }
}
