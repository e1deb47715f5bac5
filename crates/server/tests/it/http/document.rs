//! The OpenAPI document as a judge: an answer that it does not describe fails the test.

use serde_json::{Value, json};

use crate::http::client::Response;
use crate::http::service::{Kind, Service};

pub(crate) struct Document(Value);

impl Document {
    pub(crate) fn new(document: Value) -> Self {
        assert_eq!(document["openapi"], "3.1.0");
        Self(document)
    }

    /// Paths with the methods that they take.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (&str, &str)> {
        let paths = self.0["paths"].as_object().expect("paths");
        paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().expect("an item").keys();
            methods.map(move |method| (path.as_str(), method.as_str()))
        })
    }

    pub(crate) fn check(&self, method: &str, target: &str, response: &Response) {
        let id = response.header("x-request-id");
        assert!(id.is_some_and(|id| !id.is_empty()), "{method} {target} has no id");
        let path = target.split('?').next().unwrap_or_default();
        let item = self.item(path);
        let operation = &item[method.to_ascii_lowercase()];
        let expected = match (item, operation) {
            (Value::Null, _) => return self.check_problem(404, response),
            (_, Value::Null) => return self.check_problem(405, response),
            (_, operation) => self.follow(&operation["responses"][response.status.to_string()]),
        };
        assert!(expected.is_object(), "{method} {path} may not answer {}: {response:?}", response.status);
        if method == "HEAD" {
            return;
        }
        self.check_headers(expected, response);
        let Some(contents) = expected["content"].as_object() else {
            assert!(response.body.is_empty(), "{method} {path} has a body");
            return;
        };
        let content_type = response.header("content-type").expect("a content type");
        let content = contents.get(content_type);
        let content = content.unwrap_or_else(|| panic!("{method} {path} may not answer {content_type}"));
        if content_type.ends_with("json") {
            self.check_body(&content["schema"], response);
        }
    }

    /// Operations of a path, which may have a parameter at its end.
    fn item(&self, path: &str) -> &Value {
        let paths = &self.0["paths"];
        match path.rsplit_once('/') {
            Some((before, last)) if paths[path].is_null() && !last.is_empty() => {
                &paths[format!("{before}/{{id}}").as_str()]
            }
            _ => &paths[path],
        }
    }

    fn check_problem(&self, status: u16, response: &Response) {
        assert_eq!(response.status, status, "{response:?}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
        assert!(status != 405 || response.header("allow").is_some());
        if !response.body.is_empty() {
            self.check_body(&json!({ "$ref": "#/components/schemas/Problem" }), response);
        }
    }

    fn check_headers(&self, expected: &Value, response: &Response) {
        let names = expected["headers"].as_object().expect("headers");
        let names: Vec<String> = names.keys().map(|name| name.to_ascii_lowercase()).collect();
        for (name, _) in &response.headers {
            let usual = ["content-type", "content-length", "date", "connection"].contains(&name.as_str());
            // Other styles than the default are named in the text only.
            let styled = name.starts_with("ratelimit-") || name.starts_with("x-ratelimit-");
            assert!(usual || styled || names.contains(name), "no header {name} with {}", response.status);
        }
    }

    fn check_body(&self, schema: &Value, response: &Response) {
        let body = response.json();
        if let Some(status) = body.get("status") {
            assert_eq!(status, response.status, "{body}");
        }
        self.check_json(schema.clone(), &body);
    }

    /// Holds what is no answer against a schema of the document.
    pub(crate) fn check_value(&self, name: &str, value: &Value) {
        self.check_json(json!({ "$ref": format!("#/components/schemas/{name}") }), value);
    }

    fn check_json(&self, mut schema: Value, body: &Value) {
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(body).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {body}");
    }

    /// What a `$ref` means.
    fn follow<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
            Some(pointer) => self.0.pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")),
            None => value,
        }
    }
}

/// What the document lists is there, and nothing is listed that is not.
#[tokio::test]
async fn everything_in_the_document_is_there() {
    let service = Service::start(Kind::Memory, "rules: []").await;
    let mut client = service.client().await;
    let mut operations = 0;
    for (path, method) in service.document.operations() {
        let answer = client.send(&method.to_ascii_uppercase(), path, &[], b"").await;
        assert!(![404, 405].contains(&answer.status), "{method} {path}");
        operations += 1;
    }
    assert_eq!(operations, 5 + 8 + 2 + 4 * 2);
}
