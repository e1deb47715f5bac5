//! Requests of the admin commands, each with the text of its response.

use hyper::Method;
use serde_json::{Value, json};

use super::overrides::OverrideCommand;
use super::{AdminCommand, AdminServer, render};

/// Request to the admin listener.
pub(super) struct AdminRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// Text of the response, for people.
    pub(super) render: fn(&Value) -> String,
    /// Statuses that mean failure of a valid request.
    pub(super) failures: &'static [u16],
}

impl AdminRequest {
    fn get(path: &str, render: fn(&Value) -> String) -> Self {
        Self { method: Method::GET, path: path.to_owned(), body: None, render, failures: &[] }
    }

    fn post(path: &str, body: Value, render: fn(&Value) -> String) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(path, render) }
    }

    fn with_failures(self, failures: &'static [u16]) -> Self {
        Self { failures, ..self }
    }
}

/// Whether an inspection or a reset found no subject.
pub(super) fn is_without_subjects(response: &Value) -> bool {
    response["subjects"].as_array().is_some_and(Vec::is_empty)
}

impl AdminCommand {
    /// The server and the request for it.
    pub(super) fn request(&self) -> (&AdminServer, AdminRequest) {
        let get = AdminRequest::get;
        let post = AdminRequest::post;
        match self {
            Self::Status(server) => (server, get("/v1/status", render::status)),
            Self::Policy(server) => (server, get("/v1/policy", render::policy)),
            Self::Ready(server) => (server, get("/readyz", render::ready).with_failures(&[503])),
            Self::Reload(server) => {
                (server, post("/v1/reload", json!({}), render::reload).with_failures(&[409, 422]))
            }
            Self::Inspect(args) => {
                let request = post("/v1/keys/look", args.body(), render::inspection);
                (&args.server, request.with_failures(&[404]))
            }
            Self::Reset(args) => {
                let request = post("/v1/keys/reset", args.body(), render::reset);
                (&args.server, request.with_failures(&[404]))
            }
            Self::Override(OverrideCommand::Add(args)) => {
                (&args.server, post("/v1/overrides", args.body(), render::new_override))
            }
            Self::Override(OverrideCommand::List(server)) => {
                (server, get("/v1/overrides", render::overrides))
            }
            Self::Override(OverrideCommand::Remove(args)) => {
                let path = format!("/v1/overrides/{}", args.id);
                let request = AdminRequest { method: Method::DELETE, ..get(&path, render::removal) };
                (&args.server, request.with_failures(&[404]))
            }
        }
    }
}
