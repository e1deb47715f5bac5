//! Output of commands on standard output.

use std::io::{ErrorKind, Write};

use miette::{IntoDiagnostic, WrapErr};

/// Prints and flushes a text, without colours unless a terminal reads it. A closed pipe, as `head`
/// leaves one, is no error; a full disk is.
pub(crate) fn print(text: &str) -> miette::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).into_diagnostic().wrap_err("cannot write to standard output")
        }
        _ => Ok(()),
    }
}
