//! Python with the packages of `scripts/python-tools.txt`.

use std::process::Command;

/// The interpreter that has them.
///
/// # Panics
/// If `SLIDEGATE_PYTHON` is not set.
pub fn python() -> Command {
    let Some(path) = std::env::var_os("SLIDEGATE_PYTHON") else {
        panic!(
            "SLIDEGATE_PYTHON is not set: it is the path of a Python with the packages of scripts/python-tools.txt. \
             scripts/test installs it (need_python_tools in scripts/lib.sh)"
        );
    };
    Command::new(path)
}
