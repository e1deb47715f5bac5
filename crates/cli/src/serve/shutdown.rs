//! When a server is to end.

use std::future::Future;
use std::io;

/// Listens, from now on, for Ctrl-C and for the signal by which services are stopped; the future completes at the first.
#[cfg(unix)]
pub(super) fn asked() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Listens, from now on, for Ctrl-C.
#[cfg(windows)]
pub(super) fn asked() -> io::Result<impl Future<Output = ()>> {
    let mut ctrl_c = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        ctrl_c.recv().await;
    })
}
