//! Looks after certificates while the service runs.

use std::sync::Arc;
use std::time::Duration;

use slidegate::Clock;
use tokio::task::JoinSet;

use super::{Tls, expiry, now_ms};
use crate::runtime::app::App;
use crate::runtime::file_watch::Watched;

/// How often it is told that a certificate ends.
const REMINDER: Duration = Duration::from_secs(24 * 60 * 60);

/// Takes certificates whose files have changed, and tells of those that end soon. It never returns.
pub(crate) async fn watch<C: Clock>(app: Arc<App<C>>) {
    let mut all = JoinSet::new();
    for tls in app.certificates.all() {
        all.spawn(follow(Arc::clone(tls)));
        all.spawn(remind(Arc::clone(tls)));
    }
    drop(app);
    while all.join_next().await.is_some() {}
    std::future::pending::<()>().await;
}

/// What is there at the beginning counts as a change, too: it may not be what was read at the start.
async fn follow(tls: Arc<Tls>) {
    let paths = tls.files.paths();
    let Ok(mut watched) = tokio::task::spawn_blocking(|| Watched::anew(paths)).await else { return };
    loop {
        watched.changed().await;
        // What is wrong was logged, and is in the state.
        let _taken = tls.take(tls.files.watched(&watched));
    }
}

async fn remind(tls: Arc<Tls>) {
    loop {
        tokio::time::sleep(REMINDER).await;
        let validity = tls.last.lock().validity;
        expiry::warn(tls.setting, validity, now_ms());
    }
}
