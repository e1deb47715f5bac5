//! The admin listener as operators see it. Every answer is held against its OpenAPI document.

mod audit;
mod auth;
mod console;
mod events;
mod health;
mod keys;
mod metrics;
mod overrides;
mod policy;
mod refused_writes;

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use slidegate::Clock;

use crate::http::client::{Client, Response};
use crate::http::document::Document;
use crate::http::service::{Kind, Service};

pub(super) const TOKEN: &str = "s3cret-and-long-enough";

/// A listener for operators on this machine, and these rules.
pub(super) fn with_admin(rules: &str) -> String {
    format!("server: {{ admin: 127.0.0.1:0 }}\nrules:\n{rules}")
}

/// The same with a token.
pub(super) fn with_token(rules: &str) -> String {
    format!("server: {{ admin: {{ listen: 127.0.0.1:0, token: {TOKEN} }} }}\nrules:\n{rules}")
}

pub(super) const LOGIN: &str = "  - { name: login, match: { path: /login }, key: [ip], limits: [2/min] }\n";

/// One who asks as the document says.
pub(super) struct Operator {
    client: Client,
    host: String,
    token: Option<&'static str>,
}

impl Operator {
    pub(super) async fn new<C: Clock + Clone + 'static>(service: &Service<C>) -> Self {
        Self::with(service, None).await
    }

    pub(super) async fn with<C: Clock + Clone + 'static>(
        service: &Service<C>,
        token: Option<&'static str>,
    ) -> Self {
        let address = service.admin.expect("a listener for operators");
        let mut first =
            Self { client: Client::connect(address, None).await, host: address.to_string(), token };
        let document = Arc::new(Document::new(first.get("/openapi.json").await.json()));
        Self { client: Client::connect(address, Some(document)).await, ..first }
    }

    pub(super) async fn get(&mut self, target: &str) -> Response {
        self.send("GET", target, &[], b"").await
    }

    pub(super) async fn post(&mut self, target: &str, body: &Value) -> Response {
        self.send("POST", target, &[("content-type", "application/json")], body.to_string().as_bytes()).await
    }

    pub(super) async fn delete(&mut self, target: &str) -> Response {
        self.send("DELETE", target, &[], b"").await
    }

    /// With these headers beside those that it always sends.
    pub(super) async fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let bearer = self.token.map(|token| format!("Bearer {token}"));
        let mut all = headers.to_vec();
        if !headers.iter().any(|(name, _)| *name == "host") {
            all.push(("host", &self.host));
        }
        if let Some(bearer) = &bearer {
            all.push(("authorization", bearer));
        }
        self.client.send(method, target, &all, body).await
    }
}

/// Where it is asked for, so that the two listeners are not mixed up.
pub(super) fn address<C>(service: &Service<C>) -> SocketAddr {
    service.admin.expect("a listener for operators")
}

/// What the document lists is there, and nothing is listed that is not.
#[tokio::test]
async fn everything_in_the_document_is_there() {
    let service = Service::start(Kind::Memory, &with_admin("  []")).await;
    let mut operator = Operator::new(&service).await;
    let document = Document::new(operator.get("/openapi.json").await.json());
    let mut count = 0;
    for (path, method) in document.operations() {
        let path = path.replace("{id}", "none");
        // An answer that goes on would take the connection with it.
        let mut own = Operator::new(&service).await;
        let operator = if path == "/v1/events" { &mut own } else { &mut operator };
        let answer = operator.send(&method.to_ascii_uppercase(), &path, &[], b"").await;
        // Of an override that there is not, the document says so itself.
        assert!(answer.status != 405 && (answer.status != 404 || path.ends_with("/none")), "{method} {path}");
        count += 1;
    }
    // GET and HEAD of eleven, POST of four, and one DELETE.
    assert_eq!(count, 2 * 11 + 4 + 1);
}

#[tokio::test]
async fn unknown_paths_are_errors() {
    let service = Service::start(Kind::Memory, &with_admin("  []")).await;
    let mut operator = Operator::new(&service).await;
    assert_eq!(operator.get("/v1/check").await.status, 404);
    assert_eq!(operator.get("/nowhere").await.status, 404);
    for (method, path, allow) in [
        ("GET", "/v1/reload", "POST"),
        ("PUT", "/v1/overrides", "GET, HEAD, POST"),
        ("GET", "/v1/overrides/abc", "DELETE"),
        ("DELETE", "/metrics", "GET, HEAD"),
        ("DELETE", "/livez", "GET, HEAD"),
    ] {
        let answer = operator.send(method, path, &[], b"").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{method} {path}");
    }
    let too_large = vec![b' '; 65 << 10];
    let json = [("content-type", "application/json")];
    assert_eq!(operator.send("POST", "/v1/keys/look", &json, &too_large).await.status, 413);
    // The other way round, operators' addresses are not among those of checks.
    let mut client = service.client().await;
    for path in ["/v1/status", "/v1/policy", "/v1/overrides", "/metrics", "/v1/keys/look", "/v1/reload"] {
        assert_eq!(client.get(path, &[]).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn unknown_members_of_bodies_are_errors() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    let rows = [
        ("/v1/keys/look", json!({ "attributes": {}, "atributes": {} }), 400, "atributes"),
        ("/v1/keys/look", json!({ "attributes": { "ip": 7 } }), 400, "string"),
        ("/v1/keys/look", json!([]), 400, "expected a JSON object"),
        ("/v1/keys/reset", json!({ "attributes": {}, "rules": "login" }), 400, "rules"),
        ("/v1/reload", json!({ "force": true }), 400, "force"),
        ("/v1/overrides", json!({ "rule": "login", "when": {}, "deny": true }), 400, "expires_in"),
        (
            "/v1/overrides",
            json!({ "rule": "login", "when": {}, "deny": true, "expires_in": "1h", "colour": "red" }),
            422,
            "colour",
        ),
    ];
    for (path, body, status, word) in rows {
        let answer = operator.post(path, &body).await;
        assert_eq!(answer.status, status, "{path} {body}: {answer:?}");
        assert!(answer.detail().contains(word), "{path} {body}: {}", answer.detail());
    }
}
