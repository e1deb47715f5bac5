//! Limit of open files of the process: every connection is one.

/// Raises the limit to the maximum, since the default is often 1,024, and returns it; `None` means
/// unlimited.
#[cfg(unix)]
pub(super) fn raise() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

/// No such limit on this system.
#[cfg(not(unix))]
pub(super) fn raise() -> Option<u64> {
    None
}
