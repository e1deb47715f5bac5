//! `GET /v1/policy`: the rules that are in force, overrides included, and where they come from.

use hyper::StatusCode;
use serde_json::json;
use slidegate::Clock;

use super::json;
use crate::app::App;
use crate::http::problem::Reply;

pub(super) fn policy<C: Clock>(app: &App<C>) -> Reply {
    let state = app.reload_state();
    let file = app.policy_path().map(|path| path.display().to_string());
    let digest = Some(state.policy_digest).filter(|digest| !digest.is_empty());
    json(
        StatusCode::OK,
        &json!({
            "file": file,
            "digest": digest,
            "loaded_at_ms": state.loaded_at_ms,
            "rules": app.gate().policy().explain(),
        }),
    )
}
