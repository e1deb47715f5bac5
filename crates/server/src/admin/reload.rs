//! `POST /v1/reload`: the policy file and the certificates are read again, at once.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use slidegate::Clock;

use super::json;
use crate::app::App;
use crate::audit::Told;
use crate::http::body;
use crate::http::problem::{Problem, Reply};
use crate::reload::ReloadError;

/// There is nothing to say yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {}

pub(super) async fn reload<C: Clock + 'static>(
    app: &Arc<App<C>>,
    bytes: &[u8],
    told: &mut Told,
) -> Result<Reply, Problem> {
    told.what = app.policy_path().map(|path| path.display().to_string());
    if !bytes.is_empty() {
        let Body {} = body::parse(bytes)?;
    }
    told.before = Some(app.reload_state().policy_digest);
    // Also where there is no policy file to read again.
    let certificates = app.reload_certificates().await;
    let done = app.reload().await.map_err(|error| refused(&error))?;
    if let Err(errors) = certificates {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, lines.join("\n")));
    }
    told.after = Some(format!("{}, {} changes", done.policy_digest, done.changes.len()));
    Ok(json(
        StatusCode::OK,
        &json!({
            "digest": done.policy_digest,
            "changes": done.changes,
            "at_next_start": done.at_next_start,
        }),
    ))
}

fn refused(error: &ReloadError) -> Problem {
    let status = match error {
        ReloadError::NoFile => StatusCode::CONFLICT,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    Problem::new(status, error.lines().join("\n"))
}
