//! Exit codes of the program, as the help texts document them.

/// The command failed, or a file is invalid; of `check`: denied.
pub(crate) const FAILED: u8 = 1;
/// The arguments are invalid, or the server rejected the request. clap exits with it too.
pub(crate) const USAGE: u8 = 2;
/// The server gave no usable response.
pub(crate) const NO_RESPONSE: u8 = 3;
/// A second signal arrived during shutdown; shells report Ctrl-C with this code.
pub(crate) const INTERRUPTED: u8 = 130;
