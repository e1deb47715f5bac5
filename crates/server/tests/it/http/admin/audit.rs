//! Everything that changes something, or would, leaves exactly one line; nothing else does.

use std::time::{Duration, Instant};

use slidegate_testkit::certificates::{Authority, CertificateFiles, Usage};
use slidegate_testkit::log_lines::LogLines;
use slidegate_testkit::servers::{AfterDrop, Flavour, Proxy, RedisServer};

use super::policy::over_file;
use super::{LOGIN, Operator, TOKEN, with_token};
use crate::http::client::Response;
use crate::http::service::{Kind, Service};
use serde_json::json;
use slidegate::SystemClock;
use slidegate_server::{Config, Runtime};

/// What a request is answered, and the one line that it leaves.
async fn line(
    operator: &mut Operator,
    lines: &LogLines,
    (method, path, body): (&str, &str, &str),
) -> (Response, String) {
    let headers = [("content-type", "application/json"), ("x-request-id", "the-request")];
    let answer = operator.send(method, path, &headers, body.as_bytes()).await;
    let mut written = lines.take();
    assert_eq!(written.len(), 1, "{method} {path} {body}: {written:?}");
    (answer, written.remove(0))
}

#[tokio::test]
async fn every_change_leaves_one_line_and_a_look_leaves_none() {
    let lines = LogLines::of("slidegate::audit");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let service = Service::start_in_real_time(Kind::Memory, &with_token(LOGIN)).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;
    service.client().await.check(json!({ "path": "/login", "ip": "203.0.113.7" })).await;

    for path in
        ["/", "/openapi.json", "/livez", "/readyz", "/metrics", "/v1/status", "/v1/policy", "/v1/overrides"]
    {
        assert_eq!(operator.get(path).await.status, 200, "{path}");
    }
    let subject = json!({ "attributes": { "ip": "203.0.113.7" } });
    assert_eq!(operator.post("/v1/keys/look", &subject).await.status, 200);
    assert_eq!(operator.get("/v1/reload").await.status, 405);
    assert_eq!(operator.get("/nowhere").await.status, 404);
    assert_eq!(lines.take(), [""; 0]);

    let one = async |operator: &mut Operator, method: &str, path: &str, body: &str, words: &[&str]| {
        let (answer, line) = line(operator, &lines, (method, path, body)).await;
        let status = format!("status={}", answer.status);
        for word in [&*status, "peer=127.0.0.1", "request_id=\"the-request\""].iter().chain(words) {
            assert!(line.contains(word), "{word} is not in {line}");
        }
        answer
    };
    let exception = r#"{"rule":"login","when":{"ip":"203.0.113.7"},"deny":true,"expires_in":"1h","reason":"too \n many"}"#;
    let done = "outcome=\"done\"";
    let reset = subject.to_string();
    let words = [done, "action=\"reset\"", "ip=203.0.113.7", "before=\"login 2/min: 1 used\""];
    one(&mut operator, "POST", "/v1/keys/reset", &reset, &words).await;
    let words =
        [done, "action=\"override.add\"", "where ip is 203.0.113.7: deny for 1h", r#"reason="too \n many""#];
    let set = one(&mut operator, "POST", "/v1/overrides", exception, &words).await;
    let target = format!("/v1/overrides/{}", set.at("/id").as_str().expect("an id"));
    let words =
        [done, "action=\"override.remove\"", &target["/v1/overrides/".len()..], "before=\"rule login"];
    one(&mut operator, "DELETE", &target, "", &words).await;

    let no = "outcome=\"refused\"";
    let refused = [
        ("POST", "/v1/keys/reset", r#"{"rule":"nobody","attributes":{}}"#, 404, "rule=nobody"),
        ("POST", "/v1/keys/reset", r#"{"attributes":"#, 400, "action=\"reset\""),
        ("POST", "/v1/overrides", r#"{"rule":"login","when":{},"expires_in":"1h"}"#, 422, "for 1h"),
        ("POST", "/v1/overrides", "{}", 400, "action=\"override.add\""),
        ("DELETE", "/v1/overrides/none", "", 404, "override none"),
        ("POST", "/v1/reload", "{}", 409, "action=\"reload\""),
    ];
    for (method, path, body, status, word) in refused {
        assert_eq!(one(&mut operator, method, path, body, &[no, word]).await.status, status, "{path} {body}");
    }
    operator.token = Some("wrong");
    for (method, path, ..) in refused {
        assert_eq!(one(&mut operator, method, path, "{}", &[no]).await.status, 401, "{path}");
    }
}

/// Refusals without a token are bounded: lines, what they left out, and the summary add up to all
/// of them.
#[tokio::test]
async fn a_flood_without_a_token_is_summarised() {
    const REFUSED: u64 = 200;
    let lines = LogLines::of("slidegate::audit");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let service = Service::start_in_real_time(Kind::Memory, &with_token(LOGIN)).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;
    operator.token = None;
    let began = Instant::now();
    for _ in 0..REFUSED {
        assert_eq!(operator.send("POST", "/v1/reload", &[], b"").await.status, 401);
    }
    let most = 10 * (began.elapsed().as_secs() + 1);
    let mut reported = 0;
    let mut summaries = 0;
    while reported < REFUSED {
        for line in lines.take() {
            let is_summary = line.contains("were left out");
            let left_out =
                line.split_once("left_out=").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
            reported += left_out.unwrap_or(0) + u64::from(!is_summary);
            summaries += u64::from(is_summary);
            assert!(is_summary || line.contains("outcome=\"refused\" status=401"), "{line}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((reported, summaries), (REFUSED, 1));
    let scrape = Operator::with(&service, Some(TOKEN)).await.get("/metrics").await;
    let page = String::from_utf8(scrape.body).expect("text");
    let counted = |outcome| {
        let name = format!("slidegate_audit_refusals_total{{outcome=\"{outcome}\"}} ");
        page.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).expect("a count")
    };
    assert!(counted("written") <= most, "{page}");
    assert_eq!(counted("written") + counted("left_out"), REFUSED);
}

/// Whoever goes away before the answer leaves a line, too: something may have changed.
#[tokio::test]
async fn a_client_that_goes_away_leaves_a_line() {
    let lines = LogLines::of("slidegate::audit");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let service = Service::start_in_real_time(Kind::Memory, &with_token(LOGIN)).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;
    let head = format!(
        "POST /v1/keys/reset HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: 9\r\n\r\n{{"
    );
    operator.client.write(head.as_bytes()).await;
    drop(operator);
    loop {
        let written = lines.take();
        if !written.is_empty() {
            assert_eq!(written.len(), 1, "{written:?}");
            assert!(written[0].contains("action=\"reset\""), "{written:?}");
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Policy and certificates do not wait for each other: what one of them came to is told beside what
/// is wrong with the other.
#[tokio::test]
async fn a_partial_reload_is_reported_as_partial() {
    let lines = LogLines::of("slidegate::audit");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let authority = Authority::new("authority");
    let files = CertificateFiles::of(&authority.sign(Usage::Server, 1));
    let path = |name| files.path(name).display().to_string();
    let text = |quota: u32| {
        format!(
            "version: 1
server:
  admin: {{ listen: 127.0.0.1:0, token: {TOKEN} }}
  grpc: {{ listen: 127.0.0.1:0, tls: {{ certificate: {:?}, key: {:?} }} }}
rules: [{{ name: login, key: [ip], limits: [{quota}/min] }}]",
            path("tls.crt"),
            path("tls.key")
        )
    };
    files.write("policy.yaml", text(2));
    let service = over_file(&files.path("policy.yaml")).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;
    let next = authority.sign(Usage::Server, 2);
    let (certificate, changes) = ("new certificate of server.grpc.tls", "1 changes");
    let (no_pair, no_limit) = ("server.grpc.tls: the key in", "3/fortnight");
    // Half of a pair with a good file, the whole pair with a bad one, and both good: the outcome,
    // and what is told.
    let rows = [
        (("tls.key", &next.key), text(3), 422, "partly", vec![changes, no_pair]),
        (
            ("tls.crt", &next.certificate),
            text(3).replace("/min", "/fortnight"),
            422,
            "partly",
            vec![certificate, no_limit],
        ),
        (
            ("tls.crt", &next.certificate),
            text(3).replace("/min", "/fortnight"),
            422,
            "refused",
            vec![no_limit],
        ),
        (("tls.crt", &next.certificate), text(4), 200, "done", vec![changes]),
    ];
    for ((name, pem), policy, status, outcome, words) in rows {
        files.write(name, pem);
        files.replace("policy.yaml", &policy);
        let (answer, line) = line(&mut operator, &lines, ("POST", "/v1/reload", "{}")).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(line.contains(&format!("outcome={outcome:?}")), "{line}");
        for word in words {
            assert!(line.contains(word), "{word} is not in {line}");
            assert!(status == 200 || answer.detail().contains(word), "{word} is not in {}", answer.detail());
        }
        // What it said is in force is.
        let digest = service.app.reload_state().policy_digest.expect("a file");
        assert_eq!(line.contains(&format!("{digest}, ")), line.contains(changes), "{line}");
    }
}

/// A store that was told something and does not say what came of it may have done it.
#[tokio::test]
async fn what_a_store_may_have_done_is_not_called_refused() {
    let lines = LogLines::of("slidegate::audit");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let redis = RedisServer::start(Flavour::Redis70);
    let proxy = Proxy::start(redis.port());
    let text = format!(
        "version: 1\nstore: {{ kind: redis, url: '{}', timeout: 30s }}\n{}",
        proxy.url(),
        with_token(LOGIN)
    );
    let config = Config::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    let service = Service::serve(app, SystemClock::new(), None).await;
    let mut operator = Operator::with(&service, Some(TOKEN)).await;
    let exception = r#"{"rule":"login","when":{},"deny":true,"expires_in":"1h"}"#;
    let subject = r#"{"attributes":{"ip":"203.0.113.7"}}"#;
    // From here on there is a connection on which commands reach the store.
    let (answer, _) = line(&mut operator, &lines, ("POST", "/v1/keys/reset", subject)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    proxy.drop_replies(AfterDrop::Close);
    let rows = [
        ("POST", "/v1/overrides", exception, "may or may not be done; check the overrides"),
        ("DELETE", "/v1/overrides/none", "", "may or may not be done; check the overrides"),
        ("POST", "/v1/keys/reset", subject, "all, some or none of the subjects were reset"),
    ];
    for (method, path, body, message) in rows {
        let (answer, line) = line(&mut operator, &lines, (method, path, body)).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
        assert!(answer.detail().contains(message), "{}", answer.detail());
        assert!(line.contains("outcome=\"unknown\"") && line.contains(message), "{line}");
    }
    // The first of them was done indeed.
    proxy.pass();
    let began = Instant::now();
    while service.app.overrides().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(10), "it was not done");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
