//! A policy that is read again while requests are answered.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slidegate::SystemClock;
use slidegate_server::config::{HeaderStyle, Settings};
use slidegate_server::{Config, PolicySource, ReloadError, Runtime};
use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::http::service::Service;

/// A service of a file.
struct Setup {
    directory: tempfile::TempDir,
    service: Service<SystemClock>,
}

impl Setup {
    async fn of(text: &str) -> Self {
        Self::with(text, |_| {}).await
    }

    async fn with(text: &str, overlay: impl Fn(&mut Settings) + Send + Sync + 'static) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("policy.yaml");
        fs::write(&path, text).expect("a file");
        let mut config = Config::parse("policy.yaml", text).unwrap_or_else(|errors| panic!("{errors}"));
        overlay(&mut config.settings);
        let app = Runtime::new(config).expect("settings");
        let app = app.with_source(PolicySource::new(path, text, overlay));
        Self { directory, service: Service::serve(app, SystemClock::new(), None).await }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("policy.yaml")
    }

    /// Puts a text in the file's place, all of it at once.
    fn put(&self, text: &str) {
        let new = self.directory.path().join("new");
        fs::write(&new, text).expect("a file");
        fs::rename(new, self.path()).expect("renamed");
    }

    async fn reload(&self, text: &str) -> Result<slidegate_server::ReloadSummary, ReloadError> {
        self.put(text);
        self.service.app.reload().await
    }
}

fn policy(settings: &str, quota: u64) -> String {
    format!("version: 1\n{settings}\nrules: [{{ name: api, key: [ip], limits: [{quota}/h] }}]\n")
}

const WHO: &str = "203.0.113.7";

async fn remaining(setup: &Setup) -> (u16, Value) {
    let answer = setup.service.client().await.check(json!({ "ip": WHO })).await;
    (answer.status, answer.at("/limits/0/remaining"))
}

#[tokio::test]
async fn a_raised_quota_shows_at_once_on_what_was_recorded() {
    let setup = Setup::of(&policy("", 2)).await;
    let first = setup.service.app.reload_state();
    assert!(
        first.last_ok
            && first.reloads == 0
            && first.policy_digest.as_ref().is_some_and(|digest| digest.len() == 64),
        "{first:?}"
    );
    for expected in [(200, 1.into()), (200, 0.into()), (429, 0.into())] {
        assert_eq!(remaining(&setup).await, expected);
    }
    let done = setup.reload(&policy("", 5)).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(done.changes, ["rule api: limits 2/h -> 5/h"]);
    assert_eq!(remaining(&setup).await, (200, 2.into()));
    // Lowered below what was used.
    setup.reload(&policy("", 1)).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(remaining(&setup).await, (429, 0.into()));
    let state = setup.service.app.reload_state();
    assert_eq!((state.reloads, state.failures, state.last_ok), (2, 0, true));
    assert!(state.policy_digest != first.policy_digest && state.policy_digest != Some(done.policy_digest));
}

/// What a proxy or a client notices of settings.
#[tokio::test]
async fn settings_change_too() {
    let setup = Setup::of(&policy("server: { headers: legacy }", 9)).await;
    let mut client = setup.service.client().await;
    assert!(client.check(json!({ "ip": WHO })).await.header("ratelimit-limit").is_some());
    let text = policy(
        "server: { headers: x-ratelimit, attributes: { ip2: X-Two }, token: hunter2hunter2hunter2 }",
        9,
    );
    let done = setup.reload(&text).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(done.changes, ["server.token changed", "server.attributes changed", "server.headers changed"]);
    assert!(!format!("{done:?}").contains("hunter2"));
    // On a connection that was there before.
    assert_eq!(client.check(json!({ "ip": WHO })).await.status, 401);
    let mut headers =
        vec![("content-type", "application/json"), ("authorization", "Bearer hunter2hunter2hunter2")];
    let body = json!({ "attributes": { "ip": WHO } }).to_string();
    let allowed = client.send("POST", "/v1/check", &headers, body.as_bytes()).await;
    assert!(allowed.header("x-ratelimit-limit").is_some(), "{allowed:?}");
    setup.reload(&policy("", 9)).await.unwrap_or_else(|error| panic!("{error}"));
    headers.pop();
    assert_eq!(client.send("POST", "/v1/check", &headers, body.as_bytes()).await.status, 200);
}

#[tokio::test]
async fn a_file_that_is_not_right_changes_nothing() {
    let setup = Setup::of(&policy("", 3)).await;
    let good = setup.service.app.reload_state();
    assert_eq!(remaining(&setup).await, (200, 2.into()));
    let bad = "version: 1\nserver: { token: 31415926, headers: x-ratelimit }\nrules: [{ name: api, limits: [9/fortnight] }]\n";
    // What is wrong in the types, in what only shows together, and what only shows at a start.
    let rows = [
        (bad.to_owned(), vec![":2:18: expected a string, found", ":3:31: invalid limit `9/fortnight`; "]),
        (policy("", 0), vec![":3:"]),
        (
            policy("server: { attributes: { ip: X-Real-Ip }, headers: x-ratelimit }", 9),
            vec!["server.attributes: ip comes"],
        ),
        (
            policy("store: { kind: redis, url: 'redis://:hunter2@h/zero' }", 9),
            vec!["store: invalid Redis URL"],
        ),
        (policy("server: { tls: { certificate: no.pem, key: no.key } }", 9), vec!["no.pem"]),
        ("version: 1".to_owned() + &" ".repeat(1 << 20), vec!["bytes"]),
    ];
    for (failures, (text, expected)) in (1..).zip(rows) {
        let error = setup.reload(&text).await.expect_err("an error");
        let lines = error.lines();
        for part in &expected {
            assert!(lines.iter().any(|line| line.contains(part)), "{part} is not in {lines:?}");
        }
        let path = setup.path().display().to_string();
        assert!(lines.iter().all(|line| line.starts_with(&path) && !line.contains('\n')), "{lines:?}");
        assert!(
            lines.iter().all(|line| !line.contains("31415926") && !line.contains("hunter2")),
            "{lines:?}"
        );
        let state = setup.service.app.reload_state();
        assert_eq!((state.last_ok, state.failures, state.reloads), (false, failures, 0));
        assert_eq!(state.last_error, Some(lines.join("\n")));
        assert_eq!((&state.policy_digest, state.loaded_at_ms), (&good.policy_digest, good.loaded_at_ms));
        assert!(state.refused_digest.is_some() && state.refused_digest != good.policy_digest);
    }
    let answer = setup.service.client().await.check(json!({ "ip": WHO })).await;
    assert_eq!(
        (answer.status, answer.at("/limits/0/quota"), answer.at("/remaining")),
        (200, 3.into(), 1.into())
    );
    assert!(answer.header("ratelimit-policy").is_some(), "the headers are those of before");

    fs::remove_file(setup.path()).expect("removed");
    let gone = setup.service.app.reload().await.expect_err("an error");
    assert!(gone.to_string().ends_with("cannot be read: there is no such file"), "{gone}");
    assert_eq!(setup.service.app.reload_state().refused_digest, None);
    fs::write(setup.path(), b"version: 1 # \xff").expect("a file");
    let unreadable = setup.service.app.reload().await.expect_err("an error");
    assert!(unreadable.to_string().contains(":1:14: invalid UTF-8"), "{unreadable}");
    // And all is well again.
    let done = setup.reload(&policy("", 3)).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(done.changes, Vec::<String>::new());
    let state = setup.service.app.reload_state();
    assert_eq!((state.last_ok, state.last_error, state.refused_digest), (true, None, None));
}

#[tokio::test]
async fn what_needs_a_start_is_named_and_left_alone() {
    let setup = Setup::of(&policy(
        "server: { http: '0.0.0.0:0', admin: { listen: '0.0.0.0:8090', token: abcdefghabcdefgh } }",
        9,
    ))
    .await;
    let ad_hoc = json!({ "key": "a", "quota": 1, "window_ms": 1000 });
    let mut client = setup.service.client().await;
    assert_eq!(client.post("/v1/limit", &ad_hoc).await.status, 403);
    let text = policy(
        "server: { http: '127.0.0.1:0', admin: 127.0.0.1:8090, permit_secret: 'sixteen characters', max_waiting: 3 }\nstore: { max_memory: 1MiB }",
        9,
    );
    for _ in 0..2 {
        let done = setup.reload(&text).await.unwrap_or_else(|error| panic!("{error}"));
        let expected = ["server.http", "server.admin", "server.permit_secret", "server.max_waiting", "store"];
        assert_eq!(done.at_next_start, expected, "still so when it is read again");
    }
    // It still listens for everybody, so it does not trust as if it did not.
    assert_eq!(client.post("/v1/limit", &ad_hoc).await.status, 403);
    let settings = setup.service.app.settings();
    let admin = settings.server.admin.as_ref().expect("as it was");
    assert_eq!(admin.token.as_deref(), Some("abcdefghabcdefgh"));
    // Where the address stays, another token holds at once.
    let text = policy(
        "server: { http: '0.0.0.0:0', admin: { listen: '0.0.0.0:8090', token: ijklmnopijklmnop } }",
        9,
    );
    let done = setup.reload(&text).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((done.changes, done.at_next_start.len()), (vec!["server.admin.token changed".to_owned()], 0));
}

#[tokio::test]
async fn what_is_observed_changes_at_once_but_not_whether() {
    let setup = Setup::of(&policy("", 100)).await;
    let telemetry = setup.service.app.telemetry().expect("telemetry is on");
    let text = policy("observe: { enabled: false, near_miss: 99%, subjects: hashed, denial_log: 7 }", 100);
    for changes in [3, 0] {
        let done = setup.reload(&text).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((done.changes.len(), done.at_next_start), (changes, vec!["observe.enabled"]));
    }
    let settings = setup.service.app.settings();
    assert_eq!((settings.observe.enabled, settings.observe.denial_log), (true, 7));
    let mut client = setup.service.client().await;
    assert_eq!(client.check(json!({ "ip": WHO })).await.status, 200);
    assert_eq!(client.check(json!({ "ip": WHO })).await.status, 200);
    // Of a hundred 99 are left, and 98.
    assert_eq!((telemetry.requests().allowed, telemetry.series()[0].enforced.near_misses), (2, 2));
    let list = telemetry.near().list(9, setup.service.app.gate().now_ms());
    assert_ne!(list.entries[0].subject[0].value.as_deref(), Some(WHO));
}

/// What the command line says goes before the file, at every reload.
#[tokio::test]
async fn what_goes_before_the_file_still_does() {
    let setup = Setup::with(&policy("", 9), |settings| settings.server.headers = HeaderStyle::None).await;
    setup.reload(&policy("server: { headers: legacy }", 8)).await.unwrap_or_else(|error| panic!("{error}"));
    let answer = setup.service.client().await.check(json!({ "ip": WHO })).await;
    assert_eq!((answer.at("/limits/0/quota"), answer.header("ratelimit-limit")), (8.into(), None));
}

#[tokio::test]
async fn without_a_file_there_is_nothing_to_read() {
    let service = Service::start(crate::http::service::Kind::Memory, "rules: []").await;
    assert!(matches!(service.app.reload().await, Err(ReloadError::NoFile)));
    assert_eq!(service.app.reload_state().failures, 0);
}

/// The store learns what to answer without it from every policy, not only from the first.
#[tokio::test]
async fn on_store_error_changes_too() {
    let mut redis = RedisServer::start(Flavour::Redis70);
    let text = |answer: &str| {
        format!(
            "version: 1\nstore: {{ kind: redis, url: '{}', timeout: 30s }}
rules: [{{ name: api, limits: [9/h], on_store_error: {answer} }}]",
            redis.url()
        )
    };
    let (before, after) = (text("allow"), text("deny"));
    let setup = Setup::of(&before).await;
    redis.kill();
    let mut client = setup.service.client().await;
    assert_eq!(client.check(json!({})).await.status, 200);
    setup.reload(&after).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(client.check(json!({})).await.status, 429);
}

/// Nobody calls: the file is looked at. Rename, a link that is swapped, written in place.
#[tokio::test]
async fn changes_are_noticed() {
    let setup = Setup::of(&policy("", 2)).await;
    setup.put(&policy("", 3));
    quota_becomes(&setup, 3).await;
    fs::write(setup.path(), policy("", 4)).expect("written");
    quota_becomes(&setup, 4).await;
    #[cfg(unix)]
    {
        let at = |name: &str| setup.directory.path().join(name);
        for quota in [5, 6] {
            let version = format!("..2024_{quota}");
            fs::create_dir(at(&version)).expect("a directory");
            fs::write(at(&version).join("policy.yaml"), policy("", quota)).expect("a file");
            std::os::unix::fs::symlink(&version, at("..tmp")).expect("a link");
            fs::rename(at("..tmp"), at("..data")).expect("swapped");
            if quota == 5 {
                fs::remove_file(setup.path()).expect("removed");
                std::os::unix::fs::symlink("..data/policy.yaml", setup.path()).expect("a link");
            }
            quota_becomes(&setup, quota).await;
        }
    }
    // A file that is not right is tried once.
    setup.put("version: 2");
    let failed = poll(|| setup.service.app.reload_state(), |state| state.failures > 0).await;
    assert_eq!((failed.failures, failed.last_ok), (1, false));
    setup.put(&policy("", 7));
    quota_becomes(&setup, 7).await;
    assert_eq!(setup.service.app.reload_state().failures, 1);
}

/// A file that came before the certificates that it names is in force once they are there, and is
/// refused once until then.
#[tokio::test]
async fn what_waits_for_a_certificate_is_tried_again() {
    let setup = Setup::of(&policy("", 2)).await;
    let files = CertificateFiles::new();
    let path = |name| files.path(name).display().to_string();
    let tls = format!("{{ certificate: {:?}, key: {:?} }}", path("tls.crt"), path("tls.key"));
    setup.put(&policy(&format!("server: {{ grpc: {{ listen: 127.0.0.1:0, tls: {tls} }} }}"), 3));
    let refused = poll(|| setup.service.app.reload_state(), |state| !state.last_ok).await;
    assert!(refused.last_error.is_some_and(|error| error.contains("tls.crt cannot be read")));
    let pem = Authority::new("authority").sign(Usage::Server, 1);
    files.write("tls.crt", &pem.certificate);
    files.write("tls.key", &pem.key);
    quota_becomes(&setup, 3).await;
    let state = setup.service.app.reload_state();
    assert_eq!((state.last_ok, state.reloads, state.failures), (true, 1, 1));
    assert_eq!(state.last_done.map(|done| done.at_next_start), Some(vec!["server.grpc"]));
}

async fn quota_becomes(setup: &Setup, quota: u64) {
    let quota_now = || {
        let policy = setup.service.app.gate().policy();
        policy.rules()[0].limit_sets()[0].limits()[0].quota()
    };
    poll(quota_now, |now| *now == quota).await;
}

/// Looks until it is so; it should be within a second or two.
async fn poll<T: std::fmt::Debug>(look: impl Fn() -> T, is_so: impl Fn(&T) -> bool) -> T {
    let began = Instant::now();
    loop {
        let value = look();
        if is_so(&value) {
            return value;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{value:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
