//! `POST /v1/reload`: reload of the policy file and the certificates.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use slidegate::Clock;

use super::reply::json;
use crate::config::error::ConfigError;
use crate::net::tls::CertificateReload;
use crate::protocols::json_body;
use crate::protocols::problem::{Problem, Reply};
use crate::runtime::Runtime;
use crate::runtime::reload::ReloadError;
use crate::telemetry::audit::AuditDetails;

/// Body of a reload: empty, or an empty object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReloadBody {}

pub(super) async fn reload<C: Clock + 'static>(
    runtime: &Arc<Runtime<C>>,
    bytes: &[u8],
    audit: &mut AuditDetails,
) -> Result<Reply, Problem> {
    audit.what = runtime.policy_path().map(|path| path.display().to_string());
    if !bytes.is_empty() {
        let ReloadBody {} = json_body::parse(bytes)?;
    }
    audit.before = runtime.reload_state().policy_digest;
    // Also without a policy file.
    let CertificateReload { changed, errors } = runtime.network().certificates.reload().await;
    changed.iter().for_each(|setting| audit.record_change(&format!("new certificate of {setting}")));
    let policy = runtime.reload().await;
    if let Ok(done) = &policy {
        audit.record_change(&format!("{}, {} changes", done.policy_digest, done.changes.len()));
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
        policy => Err(refused(policy.err().as_ref(), &errors, audit)),
    }
}

/// Problem with all errors, and the changes that were made in spite of them: policy and
/// certificates are independent.
fn refused(policy: Option<&ReloadError>, certificates: &[ConfigError], audit: &mut AuditDetails) -> Problem {
    let status = match policy {
        Some(ReloadError::NoFile) => StatusCode::CONFLICT,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let mut lines = policy.map_or_else(Vec::new, ReloadError::lines);
    lines.extend(certificates.iter().map(ToString::to_string));
    lines.extend(audit.after.take().map(|done| format!("applied nevertheless: {done}")));
    Problem::new(status, lines.join("\n"))
}
