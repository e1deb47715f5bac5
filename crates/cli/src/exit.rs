//! What the program ends with. The help texts tell it too.

/// It did not work, or a file is not right; of `check`: denied.
pub(crate) const FAILED: u8 = 1;
/// The program was called in a way that makes no sense; of `check`: the server says so. It is what clap ends with.
pub(crate) const USAGE: u8 = 2;
/// A second signal came before all was done that the first one asked for; as a shell tells of Ctrl-C.
pub(crate) const AT_ONCE: u8 = 130;
/// Nobody answered, or nobody who knows.
pub(crate) const NO_ANSWER: u8 = 3;
