//! The check client over a service with prepared outcomes, in virtual time. The tests of the
//! program run it against a real server.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use slidegate_client::check::{
    BoxError, CheckClient, CheckError, CheckOutcome, CheckParameters, CheckSource, CheckVerdict,
    PermitOutcome,
};
use slidegate_client::{Retry, RetrySettings};
use tokio::time::Instant;
use tower_service::Service;

use crate::environment::VirtualEnvironment;

/// Outcome of one call.
enum CallOutcome {
    /// The connection breaks.
    Loss,
    /// No response comes.
    Silence,
    Reply(u16, Value),
}

/// Call that arrived.
#[derive(Clone, Debug)]
struct Call {
    at_ms: u128,
    path: String,
    token: Option<String>,
    body: Value,
}

/// Server with prepared outcomes.
#[derive(Clone)]
struct PreparedServer {
    start: Instant,
    outcomes: Arc<Mutex<VecDeque<CallOutcome>>>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl PreparedServer {
    fn new(outcomes: impl IntoIterator<Item = CallOutcome>) -> Self {
        let outcomes = Arc::new(Mutex::new(outcomes.into_iter().collect()));
        Self { start: Instant::now(), outcomes, calls: Arc::default() }
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("no panic").clone()
    }

    /// Client that retries.
    fn client(&self, max_attempts: u32) -> CheckClient<Self, VirtualEnvironment> {
        let settings = RetrySettings { max_attempts, ..RetrySettings::default() };
        let retry = Retry::in_environment(VirtualEnvironment::new()).settings(settings);
        CheckClient::with_retry(self.clone(), "http://limits.example.com/", retry).expect("an address")
    }
}

impl Service<Request<Full<Bytes>>> for PreparedServer {
    type Response = Response<Full<Bytes>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let token = request.headers().get("authorization");
            let token = token.map(|value| value.to_str().expect("text").to_owned());
            let (at_ms, path) = (server.start.elapsed().as_millis(), request.uri().to_string());
            let body = request.into_body().collect().await.expect("a body").to_bytes();
            let body = serde_json::from_slice(&body).expect("JSON");
            server.calls.lock().expect("no panic").push(Call { at_ms, path, token, body });
            let outcome = server.outcomes.lock().expect("no panic").pop_front();
            match outcome.expect("no more calls than outcomes") {
                CallOutcome::Loss => Err("connection reset".into()),
                CallOutcome::Silence => std::future::pending().await,
                CallOutcome::Reply(status, body) => {
                    let response = Response::builder().status(status).header("retry-after", "1");
                    Ok(response.body(Full::from(body.to_string())).expect("a response"))
                }
            }
        })
    }
}

fn answer(allowed: bool) -> Value {
    let (outcome, remaining, wait) =
        if allowed { ("fits", 4, Value::Null) } else { ("retry", 0, json!(60_000)) };
    json!({
        "allowed": allowed, "remaining": remaining, "retry_after_ms": wait, "reset_after_ms": 60_000,
        "decided_at_ms": 1_745_000_145_000_u64, "source": "store", "limits": [{
            "rule": "login", "limit": "5/min", "policy": "login-5/min", "quota": 5, "window_ms": 60_000,
            "remaining": remaining, "retry_after_ms": wait, "reset_after_ms": 60_000, "outcome": outcome,
        }],
    })
}

fn allowed() -> CallOutcome {
    CallOutcome::Reply(200, answer(true))
}

fn login() -> CheckParameters {
    CheckParameters::new().attribute("path", "/login").attribute("ip", "203.0.113.7")
}

#[tokio::test(start_paused = true)]
async fn a_check_has_an_answer() {
    let server = PreparedServer::new([allowed()]);
    let client = server.client(1).token("secret").expect("a token");
    let CheckVerdict::Allowed(answer) = client.check(&login().cost(2).wait_ms(50)).await.expect("an answer")
    else {
        panic!("denied");
    };
    assert_eq!((answer.remaining, answer.source), (Some(4), CheckSource::Store));
    assert_eq!((answer.limits[0].quota, answer.limits[0].outcome), (5, CheckOutcome::Fits));
    let [call] = &server.calls()[..] else { panic!("one call") };
    assert_eq!(call.path, "http://limits.example.com/v1/check");
    assert_eq!(call.token.as_deref(), Some("Bearer secret"));
    let attributes = json!({"path": "/login", "ip": "203.0.113.7"});
    assert_eq!(call.body, json!({"attributes": attributes, "cost": 2, "wait_ms": 50}));
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_an_answer_that_is_not_retried() {
    let server = PreparedServer::new([CallOutcome::Reply(429, answer(false))]);
    let client = server.client(5);
    // A task of its own: the future is `Send`.
    let check = tokio::spawn(async move { client.check(&login()).await });
    let verdict = check.await.expect("no panic").expect("an answer");
    assert!(!verdict.is_allowed());
    let CheckVerdict::Denied(answer) = verdict else { panic!("{verdict:?}") };
    assert_eq!((answer.retry_after_ms, answer.limits[0].outcome), (Some(60_000), CheckOutcome::Retry));
}

#[tokio::test(start_paused = true)]
async fn a_block_names_its_rule() {
    let body =
        json!({"status": 403, "detail": "rule ban blocks this request", "allowed": false, "rule": "ban"});
    let server = PreparedServer::new([CallOutcome::Reply(403, body)]);
    let verdict = server.client(1).check(&login()).await.expect("an answer");
    let CheckVerdict::Blocked(block) = verdict else { panic!("{verdict:?}") };
    assert_eq!(block.rule, "ban");
}

#[tokio::test(start_paused = true)]
async fn retries_have_one_key_and_requests_have_different_ones() {
    let unavailable = || CallOutcome::Reply(503, json!({"detail": "the store is unavailable"}));
    let outcomes = [CallOutcome::Loss, unavailable(), CallOutcome::Silence, allowed(), allowed()];
    let server = PreparedServer::new(outcomes);
    let client = server.client(5);
    // An attribute of this name is an attribute.
    let login = login().attribute("idempotency_key", "mine");
    assert!(client.check(&login).await.expect("an answer").is_allowed());
    assert!(client.check(&login).await.expect("an answer").is_allowed());
    let calls = server.calls();
    let key = |call: &Call| call.body["idempotency_key"].as_str().expect("a key").to_owned();
    assert_eq!(key(&calls[0]).len(), 32);
    assert!(calls[..4].iter().all(|call| call.body == calls[0].body), "{calls:?}");
    assert_ne!(key(&calls[4]), key(&calls[0]));
    assert!(calls.iter().all(|call| key(call) != "mine"));
    // What the server demands after the 503, and a second without an answer.
    assert!(calls[2].at_ms >= calls[1].at_ms + 1_000, "{calls:?}");
    assert!(calls[3].at_ms >= calls[2].at_ms + 1_000, "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn without_retries_there_is_no_key() {
    let server = PreparedServer::new([CallOutcome::Loss]);
    let error = server.client(1).check(&login()).await.expect_err("no answer");
    assert!(matches!(error, CheckError::Transport(_)), "{error}");
    assert_eq!(server.calls()[0].body.get("idempotency_key"), None);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_ends_in_time() {
    let server = PreparedServer::new([CallOutcome::Silence]);
    let client = server.client(1).timeout(Duration::from_millis(300));
    let start = Instant::now();
    let error = client.check(&login().wait_ms(200)).await.expect_err("no answer");
    assert!(matches!(error, CheckError::Timeout(_)), "{error}");
    assert_eq!(start.elapsed().as_millis(), 500);
}

#[tokio::test(start_paused = true)]
async fn other_statuses_are_errors_with_their_detail() {
    let rows = [
        (401, json!({"detail": "missing or invalid bearer token"}), "missing or invalid bearer token"),
        (
            429,
            json!({"detail": "too many open permits", "outcome": "too_many_permits"}),
            "too many open permits",
        ),
        (403, json!("forbidden by a proxy"), "\"forbidden by a proxy\""),
    ];
    for (status, body, expected) in rows {
        let server = PreparedServer::new([CallOutcome::Reply(status, body)]);
        let error = server.client(3).check(&login()).await.expect_err("no answer");
        let CheckError::Status { status: found, detail } = error else { panic!("{error}") };
        assert_eq!((found, &*detail), (StatusCode::from_u16(status).expect("a status"), expected));
    }
    let server = PreparedServer::new([CallOutcome::Reply(200, json!({"ok": true}))]);
    let error = server.client(3).check(&login()).await.expect_err("no answer");
    assert!(matches!(error, CheckError::Json(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn permits_are_settled_and_refunded() {
    let reply = |status, outcome: &str| CallOutcome::Reply(status, json!({"outcome": outcome}));
    let outcomes =
        [reply(200, "settled"), reply(200, "expired"), CallOutcome::Loss, reply(409, "already_spent")];
    let server = PreparedServer::new(outcomes);
    let client = server.client(2);
    assert_eq!(client.settle("AQ", 7).await.expect("an outcome"), PermitOutcome::Settled);
    assert_eq!(client.refund("AQ").await.expect("an outcome"), PermitOutcome::Expired);
    assert_eq!(client.refund("AQ").await.expect("an outcome"), PermitOutcome::AlreadySpent);
    let calls: Vec<_> = server.calls().into_iter().map(|call| (call.path, call.body)).collect();
    let call = |path: &str, body| (format!("http://limits.example.com{path}"), body);
    let refund = || call("/v1/refund", json!({"permit": "AQ"}));
    let settle = call("/v1/settle", json!({"permit": "AQ", "cost": 7}));
    assert_eq!(calls, [settle, refund(), refund(), refund()]);
}

#[test]
fn addresses_and_tokens_are_checked() {
    let retry = || Retry::in_environment(VirtualEnvironment::new());
    for address in ["", "/", "not a uri", "localhost", "127.0.0.1:8080", "http://"] {
        let result = CheckClient::with_retry((), address, retry());
        assert!(matches!(result, Err(CheckError::Address(text)) if text == address), "{address}");
    }
    let client = CheckClient::with_retry((), "http://localhost:8080", retry()).expect("an address");
    assert!(matches!(client.token("line\nbreak"), Err(CheckError::Token(_))));
}
