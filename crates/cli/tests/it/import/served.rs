//! A server with a converted policy answers those who come from the other system.

use slidegate_testkit::program::{HttpRequest, ServerProcess, file, path, run};

/// Windows that slide, so that no edge of one can come between two requests.
fn serve(system: &str, text: &str) -> (ServerProcess, tempfile::NamedTempFile) {
    let input = file(text);
    let converted = run(&["import", system, path(&input), "--sliding"]);
    assert_eq!(converted.code, Some(0), "{converted:?}");
    let policy = file(&converted.stdout);
    (ServerProcess::start(&[path(&policy)]), policy)
}

#[test]
fn clients_of_rlaas_need_no_change() {
    let (server, _policy) = serve("rlaas", include_str!("rlaas/application.yml"));
    let check = || server.ask(&HttpRequest::get("/check?userId=ann"));
    let answers = [(); 4].map(|()| check().status);
    assert_eq!(answers, [200, 200, 200, 429]);
    assert_eq!(check().body, r#"{"allowed":false,"currentCount":3,"ttl":30}"#);
    assert_eq!(server.ask(&HttpRequest::get("/check?userId=ben")).status, 200);
}

#[test]
fn descriptors_are_checked_over_http() {
    let (server, _policy) = serve("envoy", include_str!("envoy/nested.yaml"));
    let body = |mailbox: &str| {
        format!(
            r#"{{"attributes":{{"domain":"post","descriptor":"kind,mailbox","kind":"advert","mailbox":"{mailbox}"}}}}"#
        )
    };
    let answers = [(); 4].map(|()| server.check(&body("12")).status);
    assert_eq!(answers, [200, 200, 200, 429]);
    assert_eq!(server.check(&body("13")).status, 200);
}

/// The message that envoyproxy/ratelimit and Limitador are sent, as JSON.
fn call(domain: &str, entries: &[(&str, &str)]) -> String {
    let entries: Vec<_> =
        entries.iter().map(|(key, value)| serde_json::json!({ "key": key, "value": value })).collect();
    serde_json::json!({ "domain": domain, "descriptors": [{ "entries": entries }] }).to_string()
}

#[test]
fn descriptors_are_checked_as_by_envoy() {
    let (server, _policy) = serve("envoy", include_str!("envoy/nested.yaml"));
    let ask = |body: &str| server.ask(&HttpRequest::post("/json", body)).status;
    let advert = |mailbox| call("post", &[("kind", "advert"), ("mailbox", mailbox)]);
    assert_eq!([(); 4].map(|()| ask(&advert("12"))), [200, 200, 200, 429]);
    assert_eq!(ask(&advert("13")), 200);
    // The keys count in their order, and in their domain.
    let turned = call("post", &[("mailbox", "12"), ("kind", "advert")]);
    let elsewhere = call("parcel", &[("kind", "advert"), ("mailbox", "12")]);
    assert_eq!([ask(&turned), ask(&elsewhere)], [200, 200]);
}

#[test]
fn entries_may_be_called_as_limitador_calls_them() {
    let (server, _policy) = serve("limitador", include_str!("limitador/methods.yaml"));
    for (method, user) in [("req.method", "ann"), ("method", "ben")] {
        let write = call("market", &[(method, "POST"), ("user_id", user)]);
        let answers = [(); 4].map(|()| server.ask(&HttpRequest::post("/json", &write)).status);
        assert_eq!(answers, [200, 200, 200, 429], "{method}");
    }
}
