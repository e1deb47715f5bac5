//! The `slidegate` program: run to its end, or as a server that ends with the test.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::NamedTempFile;

mod http;
mod message;
mod page;
mod python;
mod server;
mod shell;

pub use http::{HttpReply, HttpRequest};
pub use message::HttpMessage;
pub use page::{CodeBlock, blocks, code_blocks, console, hold, hold_without_server};
pub use python::python;
pub use server::ServerProcess;
pub use shell::{ShellStep, run_all, steps};

/// Variables that the program reads: removed, so that a test does not depend on its environment.
const VARIABLES: [&str; 26] = [
    "SLIDEGATE_POLICY",
    "SLIDEGATE_HTTP",
    "SLIDEGATE_GRPC",
    "SLIDEGATE_RESP",
    "SLIDEGATE_REDIS",
    "SLIDEGATE_MAX_MEMORY",
    "SLIDEGATE_HEADERS",
    "SLIDEGATE_TOKEN",
    "SLIDEGATE_LOG",
    "SLIDEGATE_LOG_FORMAT",
    "SLIDEGATE_DEMO",
    "SLIDEGATE_SERVER",
    "SLIDEGATE_ADMIN",
    "SLIDEGATE_ADMIN_TOKEN",
    "SLIDEGATE_ADMIN_URL",
    "SLIDEGATE_CACERT",
    "SLIDEGATE_CERT",
    "SLIDEGATE_KEY",
    "OTEL_SDK_DISABLED",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
    "NO_COLOR",
    "CLICOLOR_FORCE",
];

/// Path of the program that was built for these tests.
///
/// Cargo sets it for the tests of the package that has the program. A test binary that is started
/// by hand finds the program where Cargo puts it.
///
/// # Panics
/// If there is no such program.
pub fn executable() -> PathBuf {
    if let Some(path) = env::var_os("CARGO_BIN_EXE_slidegate") {
        return path.into();
    }
    let program = directory().join(format!("slidegate{}", env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} does not exist: build slidegate-cli", program.display());
    program
}

/// Where Cargo puts programs that it builds with a test: one directory above the test's own.
fn directory() -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    test.ancestors().nth(2).expect("a test is in a directory of Cargo").to_owned()
}

/// The program with these arguments and none of the variables that it reads.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(executable());
    command.args(arguments).stdin(Stdio::null());
    for name in VARIABLES {
        command.env_remove(name);
    }
    command
}

/// Exit code and output of a process.
#[derive(PartialEq, Eq, Debug)]
pub struct Ended {
    /// Exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Runs the program to its end.
///
/// # Panics
/// If it cannot be started, or writes anything but UTF-8.
pub fn run(arguments: &[&str]) -> Ended {
    command(arguments).output().expect("slidegate can be started").into()
}

/// Temporary YAML file with this text.
///
/// # Panics
/// If it cannot be written.
pub fn file(text: &str) -> NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a temporary file");
    std::fs::write(file.path(), text).expect("it can be written");
    file
}

/// Path of a temporary file as text.
///
/// # Panics
/// If the path is not UTF-8.
pub fn path(file: &NamedTempFile) -> &str {
    file.path().to_str().expect("a path in UTF-8")
}
