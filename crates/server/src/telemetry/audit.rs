//! Audit log: one line for every change that operators make or try to make.

mod budget;

use std::fmt::Write;
use std::net::IpAddr;
use std::time::Instant;

use hyper::{Method, StatusCode};

use budget::LineDecision;
pub(crate) use budget::{AuditBudget, summarise};

/// Tracing target of the audit log, which is written at every log level.
pub(crate) const TARGET: &str = "slidegate::audit";

/// Action that changes something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Reload,
    Reset,
    AddOverride,
    RemoveOverride,
}

impl Action {
    /// Action of a request, if it changes anything.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Self> {
        match (method.as_str(), path) {
            ("POST", "/v1/reload") => Some(Self::Reload),
            ("POST", "/v1/keys/reset") => Some(Self::Reset),
            ("POST", "/v1/overrides") => Some(Self::AddOverride),
            ("DELETE", path) if path.starts_with("/v1/overrides/") => Some(Self::RemoveOverride),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Reload => "reload",
            Self::Reset => "reset",
            Self::AddOverride => "override.add",
            Self::RemoveOverride => "override.remove",
        }
    }
}

/// Details of an audit line, filled in while the request is handled.
#[derive(Default, Debug)]
pub(crate) struct AuditDetails {
    /// Object of the action, as in the request.
    pub(crate) what: Option<String>,
    /// Reason that the operator gave.
    pub(crate) reason: Option<String>,
    /// State before.
    pub(crate) before: Option<String>,
    /// State after.
    pub(crate) after: Option<String>,
    /// Completion, if the response is an error.
    pub(crate) completion: ActionCompletion,
    /// Whether the request failed authentication.
    pub(crate) unauthenticated: bool,
}

/// Completion of an action whose response is an error.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum ActionCompletion {
    #[default]
    Nothing,
    Partly,
    /// Unknown: the store did not respond.
    Unknown,
}

impl AuditDetails {
    /// Records a change that was made, even if the rest fails.
    pub(crate) fn record_change(&mut self, what: &str) {
        self.completion = ActionCompletion::Partly;
        match &mut self.after {
            None => self.after = Some(what.to_owned()),
            Some(after) => after.extend(["; ", what]),
        }
    }
}

/// Audit line, written when it is dropped, so that an abandoned request leaves one too.
#[derive(Debug)]
pub(crate) struct AuditLine<'a> {
    pub(crate) budget: &'a AuditBudget,
    pub(crate) action: Action,
    pub(crate) peer: IpAddr,
    pub(crate) certificate: Option<[u8; 32]>,
    pub(crate) request_id: String,
    pub(crate) details: AuditDetails,
    pub(crate) status: Option<StatusCode>,
}

impl Drop for AuditLine<'_> {
    fn drop(&mut self) {
        let AuditDetails { what, reason, before, after, completion, unauthenticated } = &self.details;
        let left_out = match unauthenticated.then(|| self.budget.admit(Instant::now())) {
            Some(LineDecision::LeftOut) => return,
            Some(LineDecision::Written { left_out }) => left_out,
            None => None,
        };
        let outcome = match (self.status, completion) {
            (Some(status), _) if status.is_success() => "done",
            (None, _) | (_, ActionCompletion::Unknown) => "unknown",
            (_, ActionCompletion::Partly) => "partly",
            (_, ActionCompletion::Nothing) => "refused",
        };
        let certificate = self.certificate.as_ref().map(fingerprint);
        tracing::info!(
            target: TARGET,
            action = self.action.name(),
            outcome,
            status = self.status.map(|status| status.as_u16()),
            peer = %self.peer,
            certificate = certificate.as_deref(),
            request_id = self.request_id.as_str(),
            what = what.as_deref(),
            reason = reason.as_deref(),
            before = before.as_deref(),
            after = after.as_deref(),
            left_out,
        );
    }
}

/// Fingerprint as `openssl x509 -fingerprint -sha256` prints it, without the colons.
fn fingerprint(digest: &[u8; 32]) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02X}").expect("writing to a string does not fail");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_recognised_by_their_address() {
        let rows = [
            ("POST", "/v1/reload", Some(Action::Reload)),
            ("POST", "/v1/keys/reset", Some(Action::Reset)),
            ("POST", "/v1/overrides", Some(Action::AddOverride)),
            ("DELETE", "/v1/overrides/abc", Some(Action::RemoveOverride)),
            ("POST", "/v1/keys/look", None),
            ("GET", "/v1/overrides", None),
            ("GET", "/v1/reload", None),
            ("DELETE", "/v1/overrides", None),
        ];
        for (method, path, expected) in rows {
            let method: Method = method.parse().expect("a method");
            assert_eq!(Action::of(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn fingerprints_are_those_of_openssl() {
        let mut digest = [0; 32];
        (digest[0], digest[31]) = (0xab, 0x01);
        let text = fingerprint(&digest);
        assert!(text.starts_with("AB00") && text.ends_with("0001") && text.len() == 64, "{text}");
    }
}
