//! State of reloads.

/// Successful reload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReloadSummary {
    /// SHA-256 of the file, in hexadecimal.
    pub policy_digest: String,
    /// Changes, one line each.
    pub changes: Vec<String>,
    /// Changed settings that take effect at the next start.
    pub at_next_start: Vec<&'static str>,
}

/// State of reloads since startup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReloadState {
    /// SHA-256 of the file in force, in hexadecimal. `None` if the policy was not read from a file.
    pub policy_digest: Option<String>,
    /// Time of its load in Unix milliseconds.
    pub loaded_at_ms: u64,
    /// Number of successful reloads.
    pub reloads: u64,
    /// Number of failed reloads.
    pub failures: u64,
    /// Last successful reload, if there was one since startup.
    pub last_done: Option<ReloadSummary>,
    /// Whether the last reload succeeded. If not, the file differs from the policy in force.
    pub last_ok: bool,
    /// Errors of the last reload, one line each.
    pub last_error: Option<String>,
    /// SHA-256 of the last invalid file, if it was readable.
    pub refused_digest: Option<String>,
    /// Time of the last attempt, startup included.
    pub last_attempt_at_ms: u64,
}

impl ReloadState {
    pub(super) fn new(loaded_at_ms: u64) -> Self {
        Self {
            policy_digest: None,
            loaded_at_ms,
            reloads: 0,
            failures: 0,
            last_done: None,
            last_ok: true,
            last_error: None,
            refused_digest: None,
            last_attempt_at_ms: loaded_at_ms,
        }
    }

    /// Digest of the last content.
    pub(super) fn last_digest(&self) -> Option<&String> {
        if self.last_ok { self.policy_digest.as_ref() } else { self.refused_digest.as_ref() }
    }

    pub(super) fn done(&mut self, reloaded: &ReloadSummary, at_ms: u64) {
        self.policy_digest = Some(reloaded.policy_digest.clone());
        self.last_done = Some(reloaded.clone());
        self.reloads += 1;
        (self.loaded_at_ms, self.last_attempt_at_ms) = (at_ms, at_ms);
        (self.last_ok, self.last_error, self.refused_digest) = (true, None, None);
    }

    /// Whether this content and error were reported already.
    pub(super) fn is_reported(&self, digest: Option<&String>, error: &str) -> bool {
        !self.last_ok && self.refused_digest.as_ref() == digest && self.last_error.as_deref() == Some(error)
    }

    pub(super) fn refused(&mut self, digest: Option<String>, error: String, at_ms: u64) {
        self.failures += 1;
        self.last_attempt_at_ms = at_ms;
        (self.last_ok, self.last_error, self.refused_digest) = (false, Some(error), digest);
    }
}
