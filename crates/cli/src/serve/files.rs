//! How many files the process may have open: every connection is one.

#[cfg(unix)]
use slidegate::policy::file::Connections;
use slidegate::policy::file::Server;

use super::log::Log;

/// What the program has open besides, those who are turned away and operators included.
#[cfg(unix)]
const BESIDES: u64 = 1_024;

/// Takes as many as the system gives, since what it gives at first is often a thousand; and says so where more was asked for.
#[cfg(unix)]
pub(super) fn raise(server: &Server, log: &Log) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let allowed = if raised.is_ok() { maximum } else { current };
    let max = server.connections.max.value.unwrap_or_default();
    // Nobody asked for the usual number.
    let is_usual = Connections::default().max.value == Some(max);
    if let Some(allowed) = allowed.filter(|allowed| !is_usual && *allowed < u64::from(max) + BESIDES) {
        log.warn(&format!(
            "the system allows {allowed} open files, and server.connections.max is {max}: raise the one (ulimit -n, \
             LimitNOFILE=), or lower the other"
        ));
    }
}

/// There is no such number.
#[cfg(not(unix))]
pub(super) fn raise(_server: &Server, _log: &Log) {}
