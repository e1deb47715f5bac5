//! `GET /v1/policy`: the rules in force with temporary overrides, their file, and the changes of
//! the last reload.

use hyper::StatusCode;
use serde_json::json;
use slidegate::Clock;

use super::reply::json;
use crate::protocols::problem::Reply;
use crate::runtime::Runtime;

pub(super) fn policy<C: Clock>(runtime: &Runtime<C>) -> Reply {
    let state = runtime.reload_state();
    let file = runtime.policy_path().map(|path| path.display().to_string());
    json(
        StatusCode::OK,
        &json!({
            "file": file,
            "digest": state.policy_digest,
            "loaded_at_ms": state.loaded_at_ms,
            "changed": state.last_done.as_ref().map(|done| &done.changes),
            "at_next_start": state.last_done.as_ref().map_or(&[][..], |done| &done.at_next_start),
            "rules": runtime.gate().policy().explain(),
        }),
    )
}
