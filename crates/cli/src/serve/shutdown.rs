//! Shutdown signals: the first stops the server gracefully, a second one immediately.

use std::future::Future;
use std::io;
use std::time::Duration;

use slidegate_server::LogWriter;

use crate::exit;

/// Longest time to write the last log line.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(250);
const IMMEDIATE_STOP: &[u8] =
    b"second signal: stopped immediately, without answering open requests or saving a snapshot\n";

/// Listens from now on for Ctrl-C and SIGTERM. The future completes at the first signal; a second
/// one exits the process.
pub(super) fn signal(log: LogWriter) -> io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen()?;
    Ok(async move {
        signals.next().await;
        tokio::spawn(async move {
            signals.next().await;
            log.line(IMMEDIATE_STOP);
            log.flush(FLUSH_TIMEOUT);
            std::process::exit(exit::INTERRUPTED.into());
        });
    })
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
