//! The policy that is in force, and reading it again.

use std::path::Path;

use serde_json::{Value, json};
use slidegate::{Memory, SystemClock};
use slidegate_server::{Backend, Config, PolicySource, Runtime};

use super::metrics::scrape;
use super::{LOGIN, Operator, with_admin};
use crate::http::service::{Kind, Service};

pub(super) async fn over_file(path: &Path) -> Service<SystemClock> {
    let text = std::fs::read_to_string(path).expect("a file");
    let config = Config::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::over(config, Backend::Memory(Memory::default())).expect("settings");
    let app = app.with_source(PolicySource::new(path, &text, |_| {}));
    Service::serve(app, SystemClock::new(), None).await
}

#[tokio::test]
async fn a_file_is_read_again_on_request() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("policy.yaml");
    let text = format!("version: 1\n{}", with_admin(LOGIN));
    std::fs::write(&path, &text).expect("a file");
    let service = over_file(&path).await;
    let mut operator = Operator::new(&service).await;
    let first = operator.get("/v1/policy").await;
    assert_eq!(first.at("/file"), path.display().to_string());
    assert_eq!(first.at("/rules/0/terms/0/limits/0/limit"), "2/min");
    assert_eq!((first.at("/changed"), first.at("/at_next_start")), (Value::Null, json!([])));

    std::fs::write(&path, text.replace("2/min", "7/min")).expect("a file");
    let reloaded = operator.post("/v1/reload", &json!({})).await;
    assert_eq!(reloaded.status, 200, "{reloaded:?}");
    let changes = reloaded.at("/changes");
    assert!(
        changes[0].as_str().is_some_and(|line| line.contains("2/min") && line.contains("7/min")),
        "{changes}"
    );
    let second = operator.get("/v1/policy").await;
    assert_eq!(second.at("/rules/0/terms/0/limits/0/limit"), "7/min");
    assert_eq!(second.at("/digest"), reloaded.at("/digest"));
    assert_ne!(second.at("/digest"), first.at("/digest"));
    assert_eq!((second.at("/changed"), second.at("/at_next_start")), (changes, json!([])));

    std::fs::write(&path, text.replace("2/min", "2/fortnight")).expect("a file");
    let refused = operator.post("/v1/reload", &json!({})).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.detail().contains("fortnight"), "{}", refused.detail());
    assert_eq!(operator.get("/v1/policy").await.json(), second.json(), "what was in force still is");
    let status = operator.get("/v1/status").await;
    assert_eq!((status.at("/policy/last_ok"), status.at("/policy/failures")), (false.into(), 1.into()));
    let metrics = scrape(&mut operator).await;
    for line in [
        "slidegate_policy_reload_success 0",
        "slidegate_policy_reloads_total{outcome=\"done\"} 1",
        "slidegate_policy_reloads_total{outcome=\"refused\"} 1",
    ] {
        assert!(metrics.lines().any(|other| other == line), "{line} in\n{metrics}");
    }
}

#[tokio::test]
async fn without_a_file_there_is_nothing_to_read() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    let refused = operator.send("POST", "/v1/reload", &[("content-type", "application/json")], b"").await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let policy = operator.get("/v1/policy").await;
    assert_eq!((policy.at("/file"), policy.at("/digest")), (Value::Null, Value::Null));
}
