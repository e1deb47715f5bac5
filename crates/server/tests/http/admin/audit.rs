//! Everything that changes something, or would, leaves exactly one line; nothing else does.

use super::{LOGIN, Operator, TOKEN, with_token};
use crate::lines::Lines;
use crate::service::{Kind, Service};
use serde_json::json;

#[tokio::test]
async fn every_change_leaves_one_line_and_a_look_leaves_none() {
    let lines = Lines::of("slidegate::audit");
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
        let headers = [("content-type", "application/json"), ("x-request-id", "the-request")];
        let answer = operator.send(method, path, &headers, body.as_bytes()).await;
        let written = lines.take();
        let [line] = &written[..] else { panic!("{method} {path} {body}: {written:?}") };
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

/// Whoever goes away before the answer leaves a line, too: something may have changed.
#[tokio::test]
async fn a_client_that_goes_away_leaves_a_line() {
    let lines = Lines::of("slidegate::audit");
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
