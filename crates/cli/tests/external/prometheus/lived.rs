//! Servers that something of every kind has happened to.

use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use slidegate_testkit::program::{HttpRequest, ServerProcess, file, path};
use slidegate_testkit::servers::{self, Flavour, wait_for};
use tempfile::TempDir;

/// A template may hold what a label has to escape.
const RULES: &str = r#"
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [2/h, 100/day] }
  - { name: tried, match: { path: /tried }, limits: [1/day], mode: observe }
  - { name: jobs, match: { path: /jobs }, limits: [10/day], refundable: true }
  - { name: shut, match: { path: /shut }, limits: [1/day], deny: [{ user: mallory }] }
  - { name: odd, match: { path: '/quo"te/back\slash/{*rest}' }, limits: [5/day] }
"#;

/// One with its state in memory, and one over a Redis that is gone.
pub(crate) struct Lived {
    pub(crate) memory: ServerProcess,
    pub(crate) redis: ServerProcess,
    _folder: TempDir,
    _files: CertificateFiles,
}

impl Lived {
    pub(crate) fn new() -> Self {
        let files = CertificateFiles::of(&Authority::new("authority").sign(Usage::Server, 1));
        let folder = TempDir::new().expect("a directory");
        let memory = in_memory(&files, &folder);
        let redis = over_redis();
        Self { memory, redis, _folder: folder, _files: files }
    }

    /// What both tell now.
    pub(crate) fn scrape(&self) -> [String; 2] {
        [scrape(&self.memory), scrape(&self.redis)]
    }
}

/// The classic text of a server.
pub(crate) fn scrape(server: &ServerProcess) -> String {
    let reply = HttpRequest::get("/metrics").send(server.admin());
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.body
}

/// With a certificate and a snapshot.
fn in_memory(files: &CertificateFiles, folder: &TempDir) -> ServerProcess {
    let (certificate, key) = (files.path("tls.crt"), files.path("tls.key"));
    let snapshot = folder.path().join("state");
    let policy = file(&format!(
        "version: 1\nserver: {{grpc: {{listen: '127.0.0.1:0', tls: {{certificate: {certificate:?}, key: {key:?}}}}}}}\n\
         store: {{snapshot: {snapshot:?}, snapshot_interval: 100ms}}\n{RULES}"
    ));
    let server = ServerProcess::start(&[path(&policy)]);
    traffic(&server);
    let saved = || scrape(&server).contains("slidegate_snapshot_saved_timestamp_seconds").then_some(());
    wait_for("a snapshot", || saved().ok_or_else(|| scrape(&server)));
    server
}

fn over_redis() -> ServerProcess {
    let mut redis = servers::RedisServer::start(Flavour::Redis70);
    let store = format!("store: {{kind: redis, url: '{}', timeout: 30s}}", redis.url());
    let policy = file(&format!("version: 1\n{store}\n{RULES}"));
    let server = ServerProcess::start(&[path(&policy)]);
    traffic(&server);
    redis.kill();
    traffic(&server);
    server
}

/// Requests with every outcome.
fn traffic(server: &ServerProcess) {
    let login = r#"{"attributes":{"method":"POST","path":"/login","ip":"203.0.113.7"}"#;
    let bodies = [
        format!("{login}}}"),
        format!("{login}}}"),
        format!("{login}}}"),
        format!("{login},\"cost\":0}}"),
        r#"{"attributes":{"method":"POST","path":"/login"}}"#.to_owned(),
        r#"{"attributes":{"path":"/tried"}}"#.to_owned(),
        r#"{"attributes":{"path":"/tried"}}"#.to_owned(),
        r#"{"attributes":{"path":"/shut","user":"mallory"}}"#.to_owned(),
        r#"{"attributes":{"path":"/free"}}"#.to_owned(),
        r#"{"attributes":{"path":"/jobs"},"idempotency_key":"one"}"#.to_owned(),
        r#"{"attributes":{"path":"/jobs"},"idempotency_key":"one"}"#.to_owned(),
        r#"{"attributes":{"path":"/quo\"te/back\\slash/x"}}"#.to_owned(),
    ];
    for body in &bodies {
        let reply = server.check(body);
        assert!([200, 403, 429].contains(&reply.status), "{body}: {reply:?}");
    }
    let reply = server.ask(&HttpRequest::post("/v1/limit", r#"{"key":"k","quota":5,"window_ms":60000}"#));
    assert!([200, 429].contains(&reply.status), "{reply:?}");
    let reserved = server.check(r#"{"attributes":{"path":"/jobs"}}"#).json();
    if let Some(permit) = reserved["permit"].as_str() {
        server.ask(&HttpRequest::post("/v1/settle", &format!(r#"{{"permit":"{permit}","cost":3}}"#)));
    }
}
