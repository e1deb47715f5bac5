//! Metrics, judged by those who read them: promtool, a real Prometheus, and the alerts and the
//! dashboard in `contrib/`.
//!
//! `need_prometheus` in scripts/lib.sh installs the programs; scripts/test does so.

mod contrib;
mod expression;
mod lived;
mod metric_names;
mod promtool;
mod samples;
mod scraped;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository.
fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Where a program is that the tests did not bring along.
fn tool(variable: &str) -> OsString {
    let Some(path) = std::env::var_os(variable) else {
        panic!(
            "{variable} is not set: scripts/test installs what it names (need_prometheus in scripts/lib.sh)"
        );
    };
    path
}
