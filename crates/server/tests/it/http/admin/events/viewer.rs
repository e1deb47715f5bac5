//! One who looks on.

use std::sync::Arc;

use serde_json::Value;
use slidegate::Clock;

use super::super::Operator;
use crate::http::client::Response;
use crate::http::document::Document;
use crate::http::service::Service;

pub(super) struct Viewer {
    operator: Operator,
    document: Arc<Document>,
}

impl Viewer {
    pub(super) async fn open<C: Clock + Clone + 'static>(service: &Service<C>) -> Self {
        let mut viewer = Self::unopened(service).await;
        let answer = viewer.ask().await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        viewer
    }

    /// One who has not asked yet.
    pub(super) async fn unopened<C: Clock + Clone + 'static>(service: &Service<C>) -> Self {
        let mut operator = Operator::new(service).await;
        let document = Arc::new(Document::new(operator.get("/openapi.json").await.json()));
        Self { operator, document }
    }

    /// Asks to look on, whatever is answered.
    pub(super) async fn ask(&mut self) -> Response {
        self.operator.get("/v1/events").await
    }

    /// The next event, which has this name; `None` at the end of all.
    pub(super) async fn next(&mut self, name: &str) -> Option<Value> {
        let chunk = String::from_utf8(self.operator.client.chunk().await).expect("UTF-8");
        if chunk.is_empty() {
            return None;
        }
        let lines: Vec<&str> = chunk.lines().filter(|line| !line.starts_with("retry: ")).collect();
        let [event, data, ""] = lines[..] else { panic!("no event: {chunk}") };
        assert_eq!(event.strip_prefix("event: "), Some(name), "{chunk}");
        let data = serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
        let schema = if name == "hello" { "Hello" } else { "Frame" };
        self.document.check_value(schema, &data);
        Some(data)
    }
}
