//! Where a policy is read again from, and the signal that asks for it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use slidegate_server::{App, PolicySource};

use super::flags::Flags;

/// Where a policy can be read again from: standard input and pipes are read once.
pub(super) fn source(path: PathBuf, text: &str, flags: Flags) -> Option<PolicySource> {
    let is_file = path.as_os_str() != "-" && fs::metadata(&path).is_ok_and(|of| of.is_file());
    is_file.then(|| PolicySource::new(path, text, move |settings| flags.apply(settings)))
}

/// From now on SIGHUP does not end the process: the policy and the certificates are read again. What comes of it is in the
/// log.
#[cfg(unix)]
pub(super) fn on_hangup(app: &Arc<App>) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let (app, mut hangup) = (Arc::clone(app), signal(SignalKind::hangup())?);
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            // A file that is not right is no reason to end.
            let _logged = (app.reload().await, app.reload_certificates().await);
        }
    });
    Ok(())
}

/// There is no such signal here.
#[cfg(not(unix))]
pub(super) fn on_hangup(_app: &Arc<App>) -> io::Result<()> {
    Ok(())
}
