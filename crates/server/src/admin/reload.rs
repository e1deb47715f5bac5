//! `POST /v1/reload`: the policy file and the certificates are read again, at once.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use slidegate::Clock;

use super::json;
use crate::config::ConfigError;
use crate::net::tls::Reread;
use crate::protocols::http::body;
use crate::protocols::problem::{Problem, Reply};
use crate::runtime::app::App;
use crate::runtime::reload::ReloadError;
use crate::telemetry::audit::Told;

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
    let Reread { taken, errors } = app.certificates.reload().await;
    taken.iter().for_each(|setting| told.note_done(&format!("another certificate of {setting}")));
    let policy = app.reload().await;
    if let Ok(done) = &policy {
        told.note_done(&format!("{}, {} changes", done.policy_digest, done.changes.len()));
    }
    match policy {
        Ok(done) if errors.is_empty() => Ok(json(
            StatusCode::OK,
            &json!({
                "digest": done.policy_digest,
                "changes": done.changes,
                "at_next_start": done.at_next_start,
            }),
        )),
        policy => Err(refused(policy.err().as_ref(), &errors, told)),
    }
}

/// All that is wrong, and what was done nevertheless: policy and certificates do not wait for each other.
fn refused(policy: Option<&ReloadError>, certificates: &[ConfigError], told: &mut Told) -> Problem {
    let status = match policy {
        Some(ReloadError::NoFile) => StatusCode::CONFLICT,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let mut lines = policy.map_or_else(Vec::new, ReloadError::lines);
    lines.extend(certificates.iter().map(ToString::to_string));
    lines.extend(told.after.take().map(|done| format!("in force nevertheless: {done}")));
    Problem::new(status, lines.join("\n"))
}
