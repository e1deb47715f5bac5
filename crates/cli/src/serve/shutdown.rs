//! When a server is to end, and when at once.

use std::future::Future;
use std::io;
use std::time::Duration;

use slidegate_server::LogWriter;

use crate::exit;

/// How long the last line has to be written.
const LAST_LINE: Duration = Duration::from_millis(250);
const AT_ONCE: &[u8] =
    b"a second signal: ended at once, without the answers and the snapshot of a good end\n";

/// Listens, from now on, for Ctrl-C and for the signal by which services are stopped; the future completes at the first. A second one
/// ends the program where it stands.
pub(super) fn asked(log: LogWriter) -> io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen()?;
    Ok(async move {
        signals.next().await;
        tokio::spawn(async move {
            signals.next().await;
            log.line(AT_ONCE);
            log.flush(LAST_LINE);
            std::process::exit(exit::AT_ONCE.into());
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
