//! What commands print.

use std::io::{ErrorKind, Write};

use miette::{IntoDiagnostic, WrapErr};

/// Prints at once, without colours where nobody sees them. Whoever closed the pipe, as `head` does, has read enough; a disk that is
/// full is an error.
pub(crate) fn print(text: &str) -> miette::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).into_diagnostic().wrap_err("standard output cannot be written")
        }
        _ => Ok(()),
    }
}
