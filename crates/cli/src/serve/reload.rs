//! Reload of the policy: its source, and SIGHUP.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use slidegate_server::{PolicySource, Runtime};

use super::flags::Flags;

/// Source for reloads, if the policy is a regular file; standard input and pipes can only be read
/// once.
pub(super) fn source(path: PathBuf, text: &str, flags: Flags) -> Option<PolicySource> {
    let is_file = path.as_os_str() != "-" && fs::metadata(&path).is_ok_and(|of| of.is_file());
    is_file.then(|| PolicySource::new(path, text, move |settings| flags.apply(settings)))
}

/// From now on SIGHUP reloads the policy and the certificates instead of ending the process. The
/// log has the result.
#[cfg(unix)]
pub(super) fn on_hangup(runtime: &Arc<Runtime>) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let (runtime, mut hangup) = (Arc::clone(runtime), signal(SignalKind::hangup())?);
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            // An invalid file does not stop the server.
            let _logged = (runtime.reload().await, runtime.reload_certificates().await);
        }
    });
    Ok(())
}

/// No such signal on this system.
#[cfg(not(unix))]
pub(super) fn on_hangup(_runtime: &Arc<Runtime>) -> io::Result<()> {
    Ok(())
}
