//! Source of a policy: its file.

use std::fmt::{self, Write};
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::config::Settings;

/// File of a policy, and the settings that take precedence over it.
pub struct PolicySource {
    pub(super) path: PathBuf,
    pub(super) digest: String,
    pub(super) overlay: Box<dyn Fn(&mut Settings) + Send + Sync>,
}

impl PolicySource {
    /// Source with its current `text`. `overlay` changes the settings each time that the file is
    /// read, as flags of a command line do.
    pub fn new(
        path: impl Into<PathBuf>,
        text: &str,
        overlay: impl Fn(&mut Settings) + Send + Sync + 'static,
    ) -> Self {
        Self { path: path.into(), digest: digest(text.as_bytes()), overlay: Box::new(overlay) }
    }

    /// Name in errors.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

impl fmt::Debug for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, digest, .. } = self;
        f.debug_struct("PolicySource").field("path", path).field("digest", digest).finish_non_exhaustive()
    }
}

/// SHA-256 in hexadecimal, as `sha256sum` prints it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
    text
}
