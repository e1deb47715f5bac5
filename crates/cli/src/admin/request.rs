//! What each command asks, and how its answer is shown.

use hyper::Method;
use serde_json::{Value, json};

use super::overrides::Command as Override;
use super::{Command, Of, render};

/// One request.
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// The answer for people.
    pub(super) show: fn(&Value) -> String,
    /// With which statuses the command was right and yet came to nothing.
    pub(super) fails_with: &'static [u16],
}

impl Ask {
    fn get(path: &str, show: fn(&Value) -> String) -> Self {
        Self { method: Method::GET, path: path.to_owned(), body: None, show, fails_with: &[] }
    }

    fn post(path: &str, body: Value, show: fn(&Value) -> String) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(path, show) }
    }

    fn fails_with(self, fails_with: &'static [u16]) -> Self {
        Self { fails_with, ..self }
    }
}

/// Whether there was nobody to look at or to reset.
pub(super) fn found_nothing(answer: &Value) -> bool {
    answer["subjects"].as_array().is_some_and(Vec::is_empty)
}

impl Command {
    /// Whom to ask, and what.
    pub(super) fn ask(&self) -> (&Of, Ask) {
        match self {
            Self::Status(of) => (of, Ask::get("/v1/status", render::status)),
            Self::Policy(of) => (of, Ask::get("/v1/policy", render::policy)),
            Self::Ready(of) => (of, Ask::get("/readyz", render::ready).fails_with(&[503])),
            Self::Reload(of) => {
                (of, Ask::post("/v1/reload", json!({}), render::reloaded).fails_with(&[409, 422]))
            }
            Self::Look(args) => {
                (&args.of, Ask::post("/v1/keys/look", args.body(), render::looked).fails_with(&[404]))
            }
            Self::Reset(args) => {
                (&args.of, Ask::post("/v1/keys/reset", args.body(), render::reset).fails_with(&[404]))
            }
            Self::Override(Override::Add(args)) => {
                (&args.of, Ask::post("/v1/overrides", args.body(), render::set))
            }
            Self::Override(Override::List(of)) => (of, Ask::get("/v1/overrides", render::overrides)),
            Self::Override(Override::Remove(args)) => {
                let path = format!("/v1/overrides/{}", args.id);
                let ask = Ask { method: Method::DELETE, ..Ask::get(&path, render::removed) };
                (&args.of, ask.fails_with(&[404]))
            }
        }
    }
}
