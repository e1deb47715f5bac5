//! Who is let in: tokens, and without one only what no page in a browser can send.

use serde_json::json;
use slidegate::{Memory, SystemClock};
use slidegate_server::{Backend, Config, Listeners, PolicySource, Runtime, run};
use std::sync::Arc;
use tokio::net::TcpListener;

use super::{LOGIN, Operator, TOKEN, address, with_admin, with_token};
use crate::http::client::Client;
use crate::http::service::{Kind, Service};

const ALL: [(&str, &str); 12] = [
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
    ("GET", "/v1/status"),
    ("HEAD", "/v1/events"),
    ("GET", "/v1/top"),
    ("GET", "/v1/policy"),
    ("GET", "/v1/overrides"),
    ("POST", "/v1/overrides"),
    ("DELETE", "/v1/overrides/abc"),
    ("POST", "/v1/keys/look"),
    ("POST", "/v1/keys/reset"),
    ("POST", "/v1/reload"),
];

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn with_a_token_nothing_goes_without_it() {
    let service = Service::start(Kind::Memory, &with_token(LOGIN)).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;
    operator.token = None;
    for header in [None, Some("Bearer wrong"), Some("Bearer "), Some(TOKEN), Some("Basic s3cret")] {
        for (method, path) in ALL {
            let headers: Vec<_> =
                header.map(|value| ("authorization", value)).into_iter().chain([JSON]).collect();
            let answer = operator.send(method, path, &headers, b"{}").await;
            assert_eq!(answer.status, 401, "{method} {path} {header:?}");
            assert!(answer.header("www-authenticate").is_some());
        }
    }
    for path in ["/livez", "/readyz"] {
        assert_eq!(operator.get(path).await.status, 200, "{path}");
    }
    // With it, host and origin do not matter: a page of somebody else's does not have it.
    operator.token = Some(TOKEN);
    let foreign = [("host", "admin.example"), ("origin", "https://elsewhere.example")];
    assert_eq!(operator.send("GET", "/v1/status", &foreign, b"").await.status, 200);
    assert_eq!(operator.send("POST", "/v1/keys/look", &[], b"{\"attributes\":{}}").await.status, 200);
}

/// The token of checks opens nothing here, and that of operators nothing there.
#[tokio::test]
async fn tokens_are_of_one_listener() {
    let policy = format!(
        "server: {{ token: of-the-checks-alone, admin: {{ listen: 127.0.0.1:0, token: {TOKEN} }} }}\nrules: []"
    );
    let service = Service::start(Kind::Memory, &policy).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;
    operator.token = Some("of-the-checks-alone");
    assert_eq!(operator.get("/v1/status").await.status, 401);
    let mut client = service.client().await;
    let bearer = format!("Bearer {TOKEN}");
    let headers = [JSON, ("authorization", &*bearer)];
    assert_eq!(client.send("POST", "/v1/check", &headers, b"{\"attributes\":{}}").await.status, 401);
}

#[tokio::test]
async fn without_a_token_only_local_hosts_are_accepted() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    let port = address(&service).port();
    let hosts = [
        (format!("127.0.0.1:{port}"), true),
        (format!("localhost:{port}"), true),
        ("[::1]".to_owned(), true),
        (format!("rebound.example:{port}"), false),
        ("localhost.example".to_owned(), false),
    ];
    for (host, passes) in hosts {
        for (method, path) in ALL {
            let answer = operator.send(method, path, &[("host", &host), JSON], b"{}").await;
            assert_eq!(answer.status == 403, !passes, "{method} {path} {host}");
        }
        // A probe may come by any name.
        assert_eq!(operator.send("GET", "/readyz", &[("host", &host)], b"").await.status, 200);
    }
}

#[tokio::test]
async fn without_a_token_pages_of_others_are_turned_away() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    let own = format!("http://{}", address(&service));
    for (origin, passes) in [(&*own, true), ("https://evil.example", false), ("null", false)] {
        for (method, path) in ALL {
            let answer = operator.send(method, path, &[("origin", origin), JSON], b"{}").await;
            assert_eq!(answer.status == 403, !passes, "{method} {path} {origin}");
        }
    }
    // What a form can send without asking.
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    {
        for (_, path) in ALL.iter().filter(|(method, _)| *method == "POST") {
            let answer = operator.send("POST", path, &[("content-type", content_type)], b"{}").await;
            assert_eq!(answer.status, 415, "{path} {content_type}");
            assert_eq!(operator.send("POST", path, &[], b"{}").await.status, 415, "{path}");
        }
    }
}

fn parse(policy: &str) -> Config {
    Config::parse("test.yaml", policy).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A listener that other machines can reach is not served without a token, whatever the settings
/// say of it.
#[tokio::test]
async fn what_is_really_bound_counts() {
    for (admin, served) in
        [("127.0.0.1:0", false), ("{ listen: 127.0.0.1:0, token: s3cret-and-long-enough }", true)]
    {
        let config = parse(&format!("version: 1\nserver: {{ admin: {admin} }}\nrules: []"));
        let app = Runtime::over(config, Backend::Memory(Memory::default())).expect("settings");
        let everywhere = TcpListener::bind("0.0.0.0:0").await.expect("a port");
        let address = everywhere.local_addr().expect("an address");
        assert_eq!(app.bind_admin(address).is_ok(), served, "{admin}");
        let listeners = Listeners {
            http: TcpListener::bind("127.0.0.1:0").await.expect("a port"),
            grpc: None,
            resp: None,
            admin: Some(everywhere),
        };
        let http = listeners.http.local_addr().expect("an address");
        let running = tokio::spawn(run(Arc::new(app), listeners, std::future::pending()));
        assert_eq!(Client::connect(http, None).await.get("/readyz", &[]).await.status, 200);
        let reached = tokio::net::TcpStream::connect(("127.0.0.1", address.port())).await;
        assert_eq!(reached.is_ok(), served, "{admin}");
        running.abort();
    }
    let config = parse("version: 1\nrules: []");
    let app = Runtime::over(config, Backend::Memory(Memory::default())).expect("settings");
    let error = app.bind_admin("127.0.0.1:8090".parse().expect("an address")).expect_err("no setting");
    assert!(error.to_string().contains("no setting"), "{error}");
}

/// Flags change settings after the file was found to be right.
#[test]
fn settings_that_flags_have_changed_are_looked_at_again() {
    let mut config = parse("version: 1\nserver: { admin: 127.0.0.1:8090 }\nrules: []");
    let admin = config.settings.server.admin.as_mut().expect("a listener");
    admin.listen = "0.0.0.0:8090".parse().expect("an address");
    let error = Runtime::over(config, Backend::Memory(Memory::default())).err().expect("it would be open");
    assert!(error.to_string().contains("0.0.0.0:8090") && error.to_string().contains("token"), "{error}");
}

/// A reload that would open a listener is refused as a whole.
#[tokio::test]
async fn a_reload_does_not_open_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("policy.yaml");
    let guarded = format!(
        "version: 1\nserver: {{ admin: {{ listen: 127.0.0.1:0, token: {TOKEN} }} }}\nrules:\n{LOGIN}"
    );
    std::fs::write(&path, &guarded).expect("a file");
    // As a flag would: the file is right for loopback, and the listener is not there.
    let everywhere = |settings: &mut slidegate_server::config::Settings| {
        let admin = settings.server.admin.as_mut().expect("a listener");
        admin.listen = "0.0.0.0:0".parse().expect("an address");
    };
    let mut config = parse(&guarded);
    everywhere(&mut config.settings);
    let source = PolicySource::new(&path, &guarded, everywhere);
    let app =
        Runtime::over(config, Backend::Memory(Memory::default())).expect("settings").with_source(source);
    let service = Service::serve(app, SystemClock::new(), None).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;

    let open = guarded.replace(&format!(", token: {TOKEN}"), "").replace("2/min", "9/min");
    std::fs::write(&path, &open).expect("a file");
    let refused = operator.post("/v1/reload", &json!({})).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.detail().contains("token"), "{}", refused.detail());
    let policy = operator.get("/v1/policy").await.json();
    assert_eq!(policy["rules"][0]["terms"][0]["limits"][0]["limit"], "2/min", "nothing of it is in force");
    operator.token = None;
    assert_eq!(operator.get("/v1/status").await.status, 401);

    // Another token is taken at once.
    std::fs::write(&path, guarded.replace(TOKEN, "another-s3cret-token")).expect("a file");
    operator.token = Some(TOKEN);
    assert_eq!(operator.post("/v1/reload", &json!({})).await.status, 200);
    assert_eq!(operator.get("/v1/status").await.status, 401);
    operator.token = Some("another-s3cret-token");
    assert_eq!(operator.get("/v1/status").await.status, 200);
}
