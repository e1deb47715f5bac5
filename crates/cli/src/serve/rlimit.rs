//! Number of files that the process may have open: every connection is one.

/// Takes as many as the system gives, since what it gives at first is often a thousand. `None`: there is no bound.
#[cfg(unix)]
pub(super) fn raise() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

/// There is no such number.
#[cfg(not(unix))]
pub(super) fn raise() -> Option<u64> {
    None
}
